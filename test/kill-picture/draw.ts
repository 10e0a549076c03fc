/** Draws the calls of a run as an SVG that moves: time passes from left to right, as it did. */

export interface Call {
  /** Milliseconds since the run began. */
  from: number;
  to: number;
  status: number;
}

export interface Run {
  calls: readonly Call[];
  killedAt: number;
  /** Requests in the gateway's log, and calls that the provider got. */
  logged: number;
  simulated: number;
  callers: number;
}

const WIDTH = 840;
const HEIGHT = 345;
const BOX = { left: 56, right: 820, top: 74, bottom: 268 };
/** The picture tells the run in so many seconds, then shows the whole for a while. */
const TELL_S = 12;
const REST_S = 6;
const LOOP_S = TELL_S + REST_S;

export function drawPicture({ calls, killedAt, logged, simulated, callers }: Run): string {
  const end = Math.max(...calls.map(({ to }) => to));
  const slowest = Math.max(...calls.map(({ from, to }) => to - from));
  const failed = calls.filter(({ status }) => status !== 200).length;
  const held = calls.filter(({ from, to }) => from < killedAt && to > killedAt);
  const toX = (ms: number) => round(BOX.left + (ms / end) * (BOX.right - BOX.left));
  // A square root keeps the usual calls apart and the late ones in the picture.
  const toY = (ms: number) => round(BOX.bottom - Math.sqrt(ms / slowest) * (BOX.bottom - BOX.top));
  const dots = (some: readonly Call[]) =>
    some.map(({ from, to }) => `M${toX(to)} ${toY(to - from)}h0`).join('');
  const late = (call: Call) => call.from < killedAt && call.to > killedAt + 2000;
  const killX = toX(killedAt);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const lines = [250, 1000, 4000, slowest].filter((ms, i, all) => ms <= slowest && all.indexOf(ms) === i);
  const grid = lines.map(
    (ms) =>
      `<path class="grid" d="M${BOX.left} ${toY(ms)}H${BOX.right}"/><text class="small" x="${BOX.left - 6}" y="${toY(ms) + 4}" text-anchor="end">${seconds(ms)}</text>`,
  );
  const whole = (TELL_S / LOOP_S).toFixed(3);
  const killPart = ((killedAt / end) * (TELL_S / LOOP_S)).toFixed(3);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" role="img" aria-label="${calls.length} calls, one of two workers killed with SIGKILL, ${failed} failed">
<!-- Written by npm run picture from a real run. Do not edit. -->
<style>
.back{fill:#fff}.ink{fill:#1f2933;font-size:17px;font-weight:600}.small{fill:#66737f;font-size:12px}.grid{stroke:#e4e8ec;fill:none}
.call{stroke:#2f8f5b;fill:none}.late{stroke:#e08a1e;fill:none}.bad{stroke:#c8202f;fill:none}.kill{stroke:#c8202f;stroke-dasharray:4 3}.killed{fill:#c8202f;font-size:13px;font-weight:600}
path.call,path.late,path.bad{stroke-width:5;stroke-linecap:round;stroke-opacity:.6}
@media (prefers-color-scheme:dark){.back{fill:#10161c}.ink{fill:#e6edf3}.small{fill:#9aa7b4}.grid{stroke:#25303a}}
</style>
<rect class="back" width="${WIDTH}" height="${HEIGHT}" rx="8"/>
<text class="ink" x="20" y="30">kill -9 of one of two workers under load: ${calls.length} calls, ${failed} failed</text>
<text class="small" x="20" y="50">Each dot is an answer, by how long its caller waited. ${callers} callers at a time; ${held.length} requests were under way at the kill.</text>
${grid.join('\n')}
<clipPath id="past"><rect x="0" y="0" height="${HEIGHT}" width="${WIDTH}"><animate attributeName="width" dur="${LOOP_S}s" repeatCount="indefinite" keyTimes="0;${whole};1" values="${BOX.left};${BOX.right + 10};${BOX.right + 10}"/></rect></clipPath>
<g clip-path="url(#past)">
<path class="call" d="${dots(calls.filter((call) => call.status === 200 && !late(call)))}"/>
<path class="late" d="${dots(calls.filter((call) => call.status === 200 && late(call)))}"/>
<path class="bad" d="${dots(calls.filter(({ status }) => status !== 200))}"/>
</g>
<g><path class="kill" d="M${killX} ${BOX.top - 8}V${BOX.bottom}"/><text class="killed" x="${killX + 6}" y="${BOX.top + 4}">kill -9</text>
<animate attributeName="opacity" dur="${LOOP_S}s" repeatCount="indefinite" calcMode="discrete" keyTimes="0;${killPart}" values="0;1"/></g>
<text class="small" x="${BOX.left}" y="${BOX.bottom + 18}">0 s</text><text class="small" x="${BOX.right}" y="${BOX.bottom + 18}" text-anchor="end">${seconds(end)}</text>
<text class="small" x="20" y="${HEIGHT - 32}">Orange: requests of the killed worker, run again by the other one.</text>
<text class="small" x="20" y="${HEIGHT - 15}">Log entries: ${logged}. Calls that the provider got: ${simulated}. The provider is simulated.</text>
</svg>
`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
