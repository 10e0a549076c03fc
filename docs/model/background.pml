/*
 * Requests in the background under one Idempotency-Key, for spin to search exhaustively: `npm run model`.
 *
 * Three requests with the same key, each at an api process of its own. The first one that comes begins: it writes its record, and
 * the key points to it. Its process then sends the command that adds its job. The others are told 202 when the request that the
 * key points to is in a job or has been answered, and wait otherwise. The time after which they may take the key over is no
 * time here: it may be over at any moment, because a process may stand still for any length. Faults: a process dies after its
 * begin; the command that adds a job is lost, or is carried out after its process has given it up; the process gives up although
 * the job was added; a kept answer is pushed out by others. A process that gives up answers 503, takes its job back if it waits,
 * and forgets its request. Steps that are one script in the code are atomic here, and nothing else is.
 *
 * Held in every state: a request runs only while no other one of the key runs or has been served, so that one call is billed at
 * most. At the end of every run, whoever was told 202 has an answer to ask for, and everybody whose process lives was answered:
 * no key stays with a request that is in no queue.
 *
 * With -DKNOWN_WHEN_BEGUN a request is told 202 as soon as another one has begun. With -DNO_TAKE_OVER nobody takes a key over.
 * With -DNO_MARK the request that lost its key is not marked, and with -DNO_MARK_WHEN_FORGOTTEN one that was forgotten is not.
 * With -DFORGET_WITHOUT_ANSWER a request is forgotten when no answer is kept, also when it was settled.
 * With -DNO_FORGET a process that gives up leaves its record. With -DSILENT_WITHDRAWAL it takes its job back without an answer.
 * Each of these searches must find a fault.
 */
#define REQUESTS 3
#define NOBODY   255

mtype = { nothing, accepted, refused, unknown };   /* what a caller is told */
mtype = { absent, waiting, running };              /* a job's place */

byte points = NOBODY;       /* the key's record */
bool begun[REQUESTS];       /* the request's own record */
bool answer[REQUESTS];      /* ... has an answer */
bool mark[REQUESTS];        /* settled, or not to be queued any more */
mtype place[REQUESTS] = absent;
bool flying[REQUESTS];      /* the command that adds its job */
mtype added[REQUESTS] = nothing;     /* what Redis says to it */
bool gaveUp[REQUESTS];

mtype told[REQUESTS] = nothing;
byte promised[REQUESTS] = NOBODY;    /* the request whose answer its caller may ask for */
bool ended[REQUESTS];                /* answered at some time */
bool dead[REQUESTS];
byte served;

byte deaths = 1, losses = 1, evictions = 1;

#define IN_REDIS(b)  (place[b] != absent || answer[b])
#define UNQUEUED(b)  (points != NOBODY && begun[b] && !IN_REDIS(b))

inline tell(r, what) { assert(told[r] == nothing); told[r] = what }

inline point(r) { points = r; begun[r] = true }

/* A failure frees the key, and is kept for those who were told 202. */
inline settle(r, isServed) {
  place[r] = absent; mark[r] = true;
  if
  :: begun[r] ->
       answer[r] = true; ended[r] = true;
       if :: !isServed && points == r -> points = NOBODY :: else fi
  :: else
  fi;
  if :: isServed -> served++ :: else fi
}

proctype Request(byte r) {
  byte b = NOBODY;

  /* begin */
  if
  :: atomic { points == NOBODY -> point(r) }
  :: atomic { points != NOBODY && !begun[points] -> tell(r, unknown); goto done }
#ifdef KNOWN_WHEN_BEGUN
  :: atomic { points != NOBODY && begun[points] -> promised[r] = points; tell(r, accepted); goto done }
#else
  :: atomic { points != NOBODY && begun[points] && IN_REDIS(points) -> promised[r] = points; tell(r, accepted); goto done }
#ifndef NO_TAKE_OVER
  :: atomic { UNQUEUED(points) ->
       b = points; begun[b] = false;
#ifndef NO_MARK
       mark[b] = true;
#endif
       point(r); b = NOBODY }
#endif
#endif
  fi;

  if
  :: atomic { deaths > 0 -> deaths--; dead[r] = true; goto done }
  :: goto give_up /* the reply to begin was lost */
  :: flying[r] = true
  fi;

  if
  :: atomic { added[r] == accepted -> promised[r] = r; tell(r, accepted); goto done }
  :: atomic { added[r] == refused -> tell(r, refused); goto forget }
  :: atomic { deaths > 0 -> deaths--; dead[r] = true; goto done }
  :: goto give_up
  fi;

give_up:
  atomic { tell(r, refused); gaveUp[r] = true };
forget: /* again and again, until it is forgotten or settled */
#ifndef NO_FORGET
  if
#ifdef FORGET_WITHOUT_ANSWER
  :: atomic { place[r] == absent && !answer[r] ->
#else
  :: atomic { place[r] == absent && !mark[r] ->
#endif
       begun[r] = false;
       if :: points == r -> points = NOBODY :: else fi;
#ifndef NO_MARK_WHEN_FORGOTTEN
       mark[r] = true
#endif
     }
  :: mark[r]
  fi;
#endif
done:
  skip
}

proctype Redis() {
  byte r;
end_quiet:
  do
  :: atomic { flying[0] || flying[1] || flying[2] ->
       if :: flying[0] -> r = 0 :: flying[1] -> r = 1 :: flying[2] -> r = 2 fi;
       flying[r] = false;
       if
       :: losses > 0 -> losses--
       :: mark[r] -> added[r] = refused
       :: !mark[r] -> place[r] = waiting; added[r] = accepted
       fi;
       r = 0 }
  :: atomic { evictions > 0 && points != NOBODY && answer[points] -> evictions--; answer[points] = false; begun[points] = false }
  od
}

/* The safety net of a process that gave up takes back a job that waits. */
proctype SafetyNet(byte r) {
end_quiet:
  do
#ifdef SILENT_WITHDRAWAL
  :: atomic { gaveUp[r] && place[r] == waiting -> place[r] = absent }
#else
  :: atomic { gaveUp[r] && place[r] == waiting -> settle(r, false) }
#endif
  od
}

#define ALONE(r) (served == 0 && (r == 0 || place[0] != running) && (r == 1 || place[1] != running) && (r == 2 || place[2] != running))

proctype Worker(byte r) {
end_idle:
  do
  :: atomic { place[r] == waiting -> assert(ALONE(r)); place[r] = running };
     if
     :: atomic { settle(r, true) }
     :: atomic { settle(r, false) }
     fi
  od
}

/* When nothing can happen any more. */
#define KEPT(r)  (told[r] != accepted || ended[promised[r]])
proctype End() {
  timeout ->
    assert((told[0] != nothing || dead[0]) && (told[1] != nothing || dead[1]) && (told[2] != nothing || dead[2]));
    assert(KEPT(0) && KEPT(1) && KEPT(2));
    assert(points == NOBODY || !begun[points] || IN_REDIS(points) || dead[points])
}

init {
  atomic {
    run Request(0); run Request(1); run Request(2); run Redis(); run Worker(0); run Worker(1); run Worker(2);
    run SafetyNet(0); run SafetyNet(1); run SafetyNet(2); run End()
  }
}
