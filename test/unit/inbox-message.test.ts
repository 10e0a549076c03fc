import { readInboxMessage } from '@sluice/shared/queue/inbox';
import test from 'ava';

test('a message of a kind that only a newer version knows is left aside', (t) => {
  t.is(readInboxMessage(['id', 'r1', 'weather', 'fine']), undefined);
  t.is(readInboxMessage([]), undefined);
});

test('every kind of message is known by its fields', (t) => {
  const reply = ['id', 'r1', 'head', '{"queueMs":1,"attempts":1}', 'body', 'text'];
  const read = { requestId: 'r1', head: { queueMs: 1, attempts: 1 }, body: 'text' };
  t.deepEqual(readInboxMessage(reply), { kind: 'reply', ...read });
  t.deepEqual(readInboxMessage(['id', 'r1', 'outcome', '{"queueMs":1,"attempts":1}', 'waiters', 'r2 r3']), {
    kind: 'outcome',
    requestId: 'r1',
    head: { queueMs: 1, attempts: 1 },
    waiters: ['r2', 'r3'],
  });
  t.like(readInboxMessage(['id', 'r1', 'moved', '{"entry":1}']), { kind: 'moved', next: { entry: 1 } });
  t.deepEqual(readInboxMessage(['id', 'r1', 'displaced', '2']), {
    kind: 'displaced',
    requestId: 'r1',
    entry: 2,
  });
  t.like(readInboxMessage(['id', 'r1', 'tested', '{"works":true}']), {
    kind: 'tested',
    verdict: { works: true },
  });
  t.deepEqual(readInboxMessage(['id', 'r1', 'models', 'null']), {
    kind: 'models',
    requestId: 'r1',
    models: null,
  });
});
