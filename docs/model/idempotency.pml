/*
 * Requests under one Idempotency-Key, for spin to search exhaustively: `npm run model`.
 *
 * One request leads and one is attached to it; a third comes whenever it likes, and may lead or be attached too. The
 * leader's worker ends it, with success or failure, and tells each that is attached. Each that is attached also looks by
 * itself, before or after its message is read. Message and look say how the leader ended; a successful answer is then read
 * in a step of its own. Faults, each at most once: the first leader's api process dies before the leader is queued; Redis
 * loses the key's record, or the leader's job, which the leader's api process then puts back; a kept answer is pushed out
 * by others, and is gone before it is read. Steps that are one script in the code are atomic here, and nothing else is.
 *
 * Held in every state: a request that is attached to one that has ended never runs, and gets that one's outcome (another
 * one's only when Redis lost the record; `unknown` when its answer was pushed out). Nobody is answered twice. At the end of every run each request is answered, except the one whose api process died.
 *
 * With -DNO_OUTCOME a failure leaves nothing behind for those who look. With -DLEAD_WITHOUT_RECORD one that is attached
 * leads when the record is gone. Both searches must find a fault.
 */
#define REQUESTS 3
#define NOBODY   255

mtype = { nothing, success, failure, unknown };

/* The key's record. A kept answer is `kept`. */
byte leader = NOBODY;
mtype kept = nothing;
bool waits[REQUESTS];      /* its fields `waiter:<id>` */

bool queued[REQUESTS];     /* its job exists */
mtype ended[REQUESTS] = nothing;     /* how it was settled */
mtype outcome[REQUESTS] = nothing;   /* the key `outcome` */
mtype message[REQUESTS] = nothing;   /* in its inbox */
mtype answer[REQUESTS] = nothing;    /* what its caller got */
byte to[REQUESTS] = NOBODY;          /* whom it is attached to */
byte by[REQUESTS] = NOBODY;          /* whose answer it reads */
byte runs[REQUESTS];
bool dead[REQUESTS];

byte deaths = 1, recordLosses = 1, jobLosses = 1, evictions = 1;

inline give(r, what) {
  assert(answer[r] == nothing);
  answer[r] = what
}

inline attach(r, other) {
  to[r] = other; waits[r] = true
}

/* It has the outcome of its leader; unless that one died and was replaced, or Redis lost what tells of it. */
#define RIGHT(r) (answer[r] == ended[to[r]] || dead[to[r]] || recordLosses == 0 || (answer[r] == unknown && evictions == 0))

/* It has heard how its leader ended. A success is read; a failure is all there is. */
#define READABLE(r) (kept == success && leader == by[r] || outcome[by[r]] == success)

inline freeKey() {
  leader = NOBODY; kept = nothing; waits[0] = false; waits[1] = false; waits[2] = false
}

/* One who is attached must not begin once its leader has ended. */
inline begin(r) {
  assert(to[r] == NOBODY || ended[to[r]] == nothing);
  leader = r; kept = nothing; waits[r] = false
}

/* Settle: by the worker that has the job. */
inline tell(r, other, how) {
  if
  :: waits[other] -> awaited = true; message[other] = how; by[other] = r; waits[other] = false
  :: else
  fi
}

inline settle(r, how) {
  queued[r] = false;
  ended[r] = how;
  if :: answer[r] == nothing && !dead[r] -> give(r, how) :: else fi;
  if
  :: leader != NOBODY && leader != r -> skip
  :: else ->
       awaited = (leader == NOBODY);
       tell(r, 0, how); tell(r, 1, how); tell(r, 2, how);
       if
       :: how == success && leader == r -> kept = success
       :: else ->
            freeKey();
#ifndef NO_OUTCOME
            if :: awaited -> outcome[r] = how :: else fi
#endif
       fi
  fi
}

proctype Worker() {
  bool awaited;
end_idle:
  do
  :: atomic { queued[0] -> awaited = false; if :: settle(0, success) :: settle(0, failure) fi }
  :: atomic { queued[1] -> awaited = false; if :: settle(1, success) :: settle(1, failure) fi }
  :: atomic { queued[2] -> awaited = false; if :: settle(2, success) :: settle(2, failure) fi }
  od
}

proctype Redis() {
end_quiet:
  do
  :: atomic { recordLosses > 0 && leader != NOBODY -> recordLosses--; freeKey() }
  :: atomic { evictions > 0 && kept == success -> evictions--; freeKey() }
  :: atomic { jobLosses > 0 && queued[0] && !dead[0] -> jobLosses--; queued[0] = false }
  od
}

/* The safety net of a live api process: a job of its own that is neither there nor ended is put back. */
proctype SafetyNet(byte r) {
end_quiet:
  do
  :: atomic { runs[r] > 0 && !queued[r] && ended[r] == nothing && answer[r] == nothing && !dead[r] -> queued[r] = true }
  od
}

proctype Request(byte r) {
first: /* the first admission */
  atomic {
    if
    :: kept == success -> by[r] = leader; goto read
    :: kept == nothing && leader == NOBODY -> begin(r); goto lead
    :: else -> attach(r, leader)
    fi
  };

attached:
  if
  /* its message is read */
  :: atomic { message[r] == failure -> give(r, failure); assert(RIGHT(r)); goto done }
  :: atomic { message[r] == success -> goto read }
  /* a look */
  :: atomic { outcome[to[r]] == failure -> give(r, failure); assert(RIGHT(r)); goto done }
  :: atomic { outcome[to[r]] == success -> by[r] = to[r]; goto read }
  :: atomic { outcome[to[r]] == nothing && kept == success -> by[r] = leader; goto read }
  /* the record was lost, the job was not */
  :: atomic { outcome[to[r]] == nothing && leader == NOBODY && queued[to[r]] -> leader = to[r]; attach(r, leader); goto attached }
  /* another one leads now */
  :: atomic { outcome[to[r]] == nothing && kept == nothing && leader != NOBODY && leader != to[r] && leader != r ->
       attach(r, leader); goto attached }
  /* its leader is named and in no job, for longer than its api process takes to queue it or to put it back */
  :: atomic { outcome[to[r]] == nothing && kept == nothing && leader == to[r] && !queued[to[r]] && dead[to[r]] ->
       begin(r); goto lead }
  /* nothing is left of its leader, for as long; and no message has come */
#ifdef LEAD_WITHOUT_RECORD
  :: atomic { outcome[to[r]] == nothing && leader == NOBODY && !queued[to[r]] && message[r] == nothing -> begin(r); goto lead }
#elif defined(NO_OUTCOME)
  :: atomic { leader == NOBODY && !queued[to[r]] -> begin(r); goto lead }
#else
  :: atomic { outcome[to[r]] == nothing && leader == NOBODY && !queued[to[r]] && message[r] == nothing &&
       (dead[to[r]] || ended[to[r]] != nothing) -> give(r, unknown); goto done }
#endif
  fi;

read: /* a newcomer whose answer has gone begins anew; one that is attached is told that it is not known */
  atomic {
    if
    :: READABLE(r) -> give(r, success); goto done
    :: !READABLE(r) && to[r] == NOBODY -> goto first
    :: !READABLE(r) && to[r] != NOBODY -> assert(evictions == 0 || recordLosses == 0); give(r, unknown); goto done
    fi
  };

lead:
  if
  :: atomic { r == 0 && deaths > 0 -> deaths--; dead[r] = true; goto done }
  :: atomic { queued[r] = true; runs[r]++ }
  fi;

done:
  skip
}

/* When nothing can happen any more. */
#define ANSWERED(r) (answer[r] != nothing || dead[r])
proctype End() {
  timeout -> assert(ANSWERED(0) && ANSWERED(1) && ANSWERED(2))
}

init {
  atomic {
    run Request(0); run Request(1); run Request(2); run Worker(); run Redis();
    run SafetyNet(0); run SafetyNet(1); run SafetyNet(2); run End()
  }
}
