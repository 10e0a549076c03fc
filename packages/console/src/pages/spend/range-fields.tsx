import { changeQuery, type Place } from '../../location.js';
import { Field, Select } from '../../ui/field.js';
import { Pick } from '../../ui/pick.js';
import { lastMonths, type Range, timeZones } from './spend-range.js';
import { GROUPS, type Group } from './spend-sums.js';

const MONTHS = 36;

interface RangeFieldsProps {
  place: Place;
  range: Range;
  by: Group;
  /** Keys, tags and time zones are known to PostgreSQL only. */
  hasArchive: boolean;
}

/** What to sum by, and the fields of the chosen time range. */
export function RangeFields({ place, range, by, hasArchive }: RangeFieldsProps) {
  const set = (name: string) => (value: string) => changeQuery(place, { [name]: value });
  const { chosen, query } = range;
  return (
    <div class="filters">
      <Select
        label="Summed by"
        value={by}
        choices={GROUPS.filter(
          ([each]) => hasArchive || each === by || !['key', 'tag', 'end_user'].includes(each),
        )}
        onChange={set('by')}
      />
      {by === 'tag' && (
        <Field label="Tag" value={place.query.tag ?? ''} onInput={set('tag')} placeholder="feature" />
      )}
      {chosen === 'month' && (
        <Pick label="Month" value={query.month ?? ''} values={lastMonths(MONTHS)} onChange={set('month')} />
      )}
      {chosen === 'dates' && (
        <>
          <Field label="From" type="date" value={query.since ?? ''} onInput={set('since')} />
          <Field label="To" type="date" value={query.until ?? ''} onInput={set('until')} />
        </>
      )}
      {hasArchive && (
        <Pick
          label="Time zone"
          value={place.query.tz || 'UTC'}
          values={timeZones(place.query.tz)}
          onChange={(zone) => set('tz')(zone === 'UTC' ? '' : zone)}
        />
      )}
    </div>
  );
}
