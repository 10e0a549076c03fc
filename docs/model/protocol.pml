/*
 * The life of requests between api, queue and workers, for spin to search exhaustively: `npm run model`.
 *
 * Two requests, each with a chain of two entries; two workers; one api process that minds waiting times and finds lost
 * jobs. Faults, each bounded so that the search ends: a worker dies at any step; a lock expires while its worker goes on
 * (frozen, or cut off) and that worker acts on late; Redis loses a job; the api takes a request for lost although its reply
 * lies unread in the inbox. Steps that are one script in the code are atomic here, and nothing else is.
 *
 * Each provider has a pool with one key, and counts the calls that are made with it. A job that waits for a limit per minute
 * is a job that waits, and one whose wait for it would be too long is a call that fails.
 *
 * Held in every state: a request is settled at most once, and the caller answered at most once. At the end of every run
 * (no deadlock, and the bounded faults used up): each request is settled exactly once and answered, unless its caller was
 * answered at the deadline while a worker had it. No key counts a call then, unless Redis has lost the job that had it.
 */
#define REQUESTS 2
#define ENTRIES  2
#define WORKERS  2
#define NOBODY   255

#ifndef CRASHES
#define CRASHES  1
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#ifndef LOSSES
#define LOSSES   1
#endif
#ifndef UNREAD
#define UNREAD   1
#endif

#define JOB(r, e) ((r) * ENTRIES + (e))
#define JOBS (REQUESTS * ENTRIES)

/* A job's place in its queue. */
mtype = { absent, waiting, running };
mtype place[JOBS] = absent;
byte owner[JOBS] = NOBODY;  /* whose lock it is; NOBODY: expired */
bool hasKey[JOBS];          /* the job's field `key` */
byte busy[ENTRIES];         /* calls under way with the key of this entry's provider */

bool settledKey[REQUESTS];  /* outlives the request's jobs */
byte ledger[REQUESTS];      /* log entry and ledger row, written by settle */
byte inbox[REQUESTS];       /* replies on their way to the api */
byte answered[REQUESTS];   /* asserted to be at most 1 where it is raised */
byte atEntry[REQUESTS];     /* where the api believes the request is */

byte lost;                   /* keys of jobs that Redis has lost */

byte crashes = CRASHES, expiries = EXPIRIES, losses = LOSSES, unread = UNREAD;

inline put(r, e) { /* adding a job that is there is a no-op */
  if
  :: place[JOB(r, e)] == absent -> place[JOB(r, e)] = waiting; owner[JOB(r, e)] = NOBODY
  :: else
  fi
}

inline freeKey(r, e) {
  if
  :: hasKey[JOB(r, e)] -> hasKey[JOB(r, e)] = false; busy[e]--
  :: else
  fi
}

inline removeJob(r, e) {
  freeKey(r, e);
  place[JOB(r, e)] = absent; owner[JOB(r, e)] = NOBODY
}

/* Only a job that waits is withdrawn. The worker that had it before may have died. */
inline withdrawJob(r, e) {
#ifndef NO_KEY_FREED
  freeKey(r, e);
#endif
  hasKey[JOB(r, e)] = false; place[JOB(r, e)] = absent; owner[JOB(r, e)] = NOBODY
}

inline begin(r, e) {
  freeKey(r, e); /* of a worker that died */
  place[JOB(r, e)] = running; owner[JOB(r, e)] = me; hasKey[JOB(r, e)] = true; busy[e]++
}

/*
 * With -DNO_SETTLED_KEY, -DNO_STALLED_CHECK, -DNO_SAFETY_NET or -DNO_KEY_FREED a guard is taken away, and the search must
 * find the fault.
 */
inline record(r) {
  ledger[r]++; assert(ledger[r] <= 1);
#ifndef NO_SETTLED_KEY
  settledKey[r] = true
#endif
}

proctype Worker(byte me) {
  byte r, e;
  bool ok;

take: /* any waiting job */
  atomic { r = 0; e = 0; ok = false };
end_idle:
  if
  :: atomic { place[JOB(0, 0)] == waiting -> r = 0; e = 0; begin(r, e) }
  :: atomic { place[JOB(0, 1)] == waiting -> r = 0; e = 1; begin(r, e) }
  :: atomic { place[JOB(1, 0)] == waiting -> r = 1; e = 0; begin(r, e) }
  :: atomic { place[JOB(1, 1)] == waiting -> r = 1; e = 1; begin(r, e) }
  fi;

  if
  :: atomic { crashes > 0 -> crashes--; goto died }
  :: skip
  fi;

  /* the call: served, failed for good, or failed so that the next entry may serve */
  if
  :: ok = true
  :: ok = false
  fi;
  if
  :: atomic { crashes > 0 -> crashes--; goto died }
  :: skip
  fi;

  if
  :: ok || e == ENTRIES - 1 ->
       atomic { /* settle, as worker: the job leaves its queue with it, whoever runs it now */
         if
         :: !settledKey[r] && place[JOB(r, e)] != absent -> record(r); inbox[r]++; removeJob(r, e)
         :: else -> skip /* refused */
         fi
       }
  :: else ->
       atomic { /* move: one job leaves its queue and the next joins its own; a notice goes to the api; not away from a later run */
         if
         :: !settledKey[r] && place[JOB(r, e)] != absent && (owner[JOB(r, e)] == me || owner[JOB(r, e)] == NOBODY) ->
              removeJob(r, e); put(r, e + 1); atEntry[r] = (atEntry[r] > e + 1 -> atEntry[r] : e + 1)
         :: else -> skip
         fi
       }
  :: owner[JOB(r, e)] != me -> skip /* it was told that it has lost the lock, and ends without a result */
  fi;
  if
  :: atomic { crashes > 0 -> crashes--; goto died }
  :: skip
  fi;

complete: /* finish: only by whoever holds the lock */
  atomic {
    if
    :: place[JOB(r, e)] == running && owner[JOB(r, e)] == me -> removeJob(r, e)
    :: else -> skip
    fi
  };
  goto take;

died: /* its lock runs out by itself; a new worker takes its place */
  atomic { if :: owner[JOB(r, e)] == me -> owner[JOB(r, e)] = NOBODY :: else fi };
  goto take
}

/* Of a worker that died, or whose lock ran out while it goes on; and what Redis loses. */
#define STALLED(j)  (place[j] == running && owner[j] == NOBODY)
#define LOCKED(j)   (place[j] == running && owner[j] != NOBODY && expiries > 0)
#define LOSABLE(j)  (place[j] != absent && losses > 0)

inline lose(j) { losses--; place[j] = absent; owner[j] = NOBODY; lost = lost + hasKey[j]; hasKey[j] = false }

proctype Redis() {
end_quiet:
  do
#ifndef NO_STALLED_CHECK
  :: atomic { STALLED(0) -> place[0] = waiting }
  :: atomic { STALLED(1) -> place[1] = waiting }
  :: atomic { STALLED(2) -> place[2] = waiting }
  :: atomic { STALLED(3) -> place[3] = waiting }
#endif
  :: atomic { LOCKED(0) -> expiries--; owner[0] = NOBODY }
  :: atomic { LOCKED(1) -> expiries--; owner[1] = NOBODY }
  :: atomic { LOCKED(2) -> expiries--; owner[2] = NOBODY }
  :: atomic { LOCKED(3) -> expiries--; owner[3] = NOBODY }
  :: atomic { LOSABLE(0) -> lose(0) }
  :: atomic { LOSABLE(1) -> lose(1) }
  :: atomic { LOSABLE(2) -> lose(2) }
  :: atomic { LOSABLE(3) -> lose(3) }
  od
}

proctype Api(byte r) {
  atomic { put(r, 0) };
  do
  :: atomic { inbox[r] > 0 -> inbox[r]--; if :: !answered[r] -> answered[r]++ :: else fi }
  :: answered[r] && inbox[r] == 0 -> break
  /* the wait ran out: withdraw, which only works on a job that waits */
  :: atomic { !answered[r] && inbox[r] == 0 && place[JOB(r, atEntry[r])] == waiting && !settledKey[r] ->
         withdrawJob(r, atEntry[r]);
         if
         :: atEntry[r] == ENTRIES - 1 -> record(r); answered[r]++
         :: else -> atEntry[r]++; put(r, atEntry[r])
         fi }
#ifndef NO_SAFETY_NET
  /* the safety net: the job is not where it should be. It adds what is not settled. */
  :: atomic { !answered[r] && inbox[r] == 0 && place[JOB(r, atEntry[r])] == absent && !settledKey[r] ->
       put(r, atEntry[r]) }
  :: atomic { !answered[r] && inbox[r] > 0 && unread > 0 && place[JOB(r, atEntry[r])] == absent && !settledKey[r] ->
       unread--; put(r, atEntry[r]) }
#endif
  od;
  assert(answered[r] == 1)
}

/* When nothing can happen any more. */
proctype End() {
  timeout ->
    assert(answered[0] == 1 && answered[1] == 1 && ledger[0] == 1 && ledger[1] == 1);
    assert(place[0] == absent && place[1] == absent && place[2] == absent && place[3] == absent);
    assert(busy[0] + busy[1] == lost)
}

init {
  atomic { run Api(0); run Api(1); run Worker(0); run Worker(1); run Redis(); run End() }
}
