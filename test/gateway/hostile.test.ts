/** The short part of `npm run hostile`: what one workspace does costs no other one an answer. */

import test from '../helpers/needs-redis.js';
import { ATTACKS } from '../hostile/attacks/index.js';
import { runAttack } from '../hostile/run-attack.js';

for (const attack of ATTACKS.filter(({ short }) => short)) {
  test.serial(`nobody else notices one who ${attack.does}`, async (t) => {
    const { failures, notes, under } = await runAttack(attack, true);
    for (const note of notes) t.log(note);
    t.deepEqual(failures, []);
    t.true((under?.requests ?? 0) > 0);
  });
}
