/*
 * Taking jobs when replies are lost, for spin to search exhaustively: `npm run model`.
 *
 * Two workers and three jobs of a route with on_crash: fail. A worker takes up to two jobs with one command, and the end of a job
 * takes the next one. When the reply to such a command is lost, the worker sends the same command again; Redis may have carried
 * out the first one or not. A lock runs out when its worker has died, or lives and does not know that it has the job, and so does
 * not renew it. Other faults, each bounded: a worker dies at any step; a lock runs out although its worker has the job and goes on,
 * because it stood still. A command that is under way is answered before locks run out. Steps that are one script in the code are
 * atomic here, and nothing else is.
 *
 * Held in every state: a job that is taken a second time was left by a worker that died or stood still, and not by one that lives
 * and sent its command again. No job runs twice at once, except when its lock ran out under a worker that stood still. A request is
 * called once at most. It is answered with 502 only when a worker was about to call. At the end of every run each job is over.
 *
 * With -DNO_TOKEN a command that is sent again takes other jobs. With -DSHARED_TOKEN the end of a job takes the next one with the
 * token of its own take. With -DHOLD_WHEN_SETTLED the end of a job that another worker has ended, sent again, takes other jobs.
 * With -DCOUNT_AT_TAKE a start counts when the job is taken. With -DBEGIN_WITHOUT_LOCK a worker that stood
 * still begins without asking whether it has the job. Each of these searches must find a fault.
 */
#define JOBS    3
#define WORKERS 2
#define NOBODY  255

#ifndef LOSSES
#define LOSSES 2
#endif

mtype = { waiting, taken, over };
mtype place[JOBS] = waiting;
byte owner[JOBS] = NOBODY;      /* whose lock it is; NOBODY: expired */
byte token[JOBS];               /* ... of which take */
byte counted[JOBS];             /* the field `ats` */
byte seen[JOBS];                /* ... as the one who took it last was told */
bool stoodStill[JOBS];          /* its lock ran out under a live worker */
byte takenBy[JOBS] = NOBODY;    /* who took it last */
bool begun[JOBS];               /* a worker was about to call */
byte calls[JOBS];
byte endedBy[JOBS] = NOBODY;    /* the mark: whose settlement counts */
byte endToken[JOBS];

bool gets[WORKERS * JOBS];      /* the reply that is on its way */
bool has[WORKERS * JOBS];       /* a run of the job, in the worker's memory */
byte runs[JOBS];                /* how many workers have it */
byte runToken[WORKERS * JOBS];
byte before[WORKERS * JOBS];    /* how many starts were counted before this run */
byte takes[WORKERS];            /* the token of the worker's last take */
byte known[WORKERS];            /* the key `take:<worker>` */
bool asks[WORKERS];             /* a command of the worker is under way */
bool dead[WORKERS];

byte deaths = 1, losses = LOSSES, expiries = 1;

#define AT(w, j) ((w) * JOBS + (j))

inline lock(w, j) {
  /* the one who had it before has died, or has stood still */
  assert(takenBy[j] == NOBODY || dead[takenBy[j]] || stoodStill[j]);
  place[j] = taken; owner[j] = w; token[j] = takes[w]; takenBy[j] = w; gets[AT(w, j)] = true; seen[j] = counted[j];
#ifdef COUNT_AT_TAKE
  counted[j]++
#endif
}

inline takeOne(w) {
  if
  :: place[0] == waiting -> lock(w, 0)
  :: place[1] == waiting -> lock(w, 1)
  :: place[2] == waiting -> lock(w, 2)
  :: else
  fi
}

inline holdOne(w, j) {
  if :: place[j] == taken && owner[j] == w && token[j] == takes[w] -> gets[AT(w, j)] = true; held = true :: else fi
}

/* What was taken with this token before. */
inline hold(w) {
  held = false;
#ifndef NO_TOKEN
  holdOne(w, 0); holdOne(w, 1); holdOne(w, 2)
#endif
}

inline loseReply(w) { losses--; gets[AT(w, 0)] = false; gets[AT(w, 1)] = false; gets[AT(w, 2)] = false }

inline receiveOne(w, j) {
  if
  :: gets[AT(w, j)] ->
       gets[AT(w, j)] = false;
       assert(!has[AT(w, j)] || stoodStill[j]);
       if :: !has[AT(w, j)] -> runs[j]++ :: else fi;
       has[AT(w, j)] = true; runToken[AT(w, j)] = takes[w]; before[AT(w, j)] = seen[j];
       assert(runs[j] <= 1 || stoodStill[j])
  :: else
  fi
}

inline receive(w) { asks[w] = false; receiveOne(w, 0); receiveOne(w, 1); receiveOne(w, 2) }

inline leave(w, j) { has[AT(w, j)] = false; runs[j]-- }

inline die(w) {
  deaths--; dead[w] = true; asks[w] = false;
  if :: has[AT(w, 0)] -> leave(w, 0) :: else fi;
  if :: has[AT(w, 1)] -> leave(w, 1) :: else fi;
  if :: has[AT(w, 2)] -> leave(w, 2) :: else fi
}

#define MINE(w, j)  (place[j] == taken && owner[j] == w && token[j] == runToken[AT(w, j)])
#define IDLE(w)     (!has[AT(w, 0)] && !has[AT(w, 1)] && !has[AT(w, 2)])
#define WAITS       (place[0] == waiting || place[1] == waiting || place[2] == waiting)

proctype Worker(byte me) {
  byte j;
  bool held;

next:
  atomic { j = 0; held = false };
end_idle:
  if
  :: atomic { IDLE(me) && WAITS -> takes[me]++; asks[me] = true; goto take }
  :: atomic { has[AT(me, 0)] -> j = 0 }
  :: atomic { has[AT(me, 1)] -> j = 1 }
  :: atomic { has[AT(me, 2)] -> j = 2 }
  fi;

  if
  :: atomic { deaths > 0 -> die(me); goto died }
  /* it was begun before, and is answered with 502 */
  :: atomic { before[AT(me, j)] > 0 -> assert(begun[j]); goto settle }
#ifdef COUNT_AT_TAKE
  :: atomic { before[AT(me, j)] == 0 -> begun[j] = true }
#elif defined(BEGIN_WITHOUT_LOCK)
  :: atomic { before[AT(me, j)] == 0 -> counted[j]++; begun[j] = true }
#else
  :: atomic { before[AT(me, j)] == 0 && MINE(me, j) -> counted[j]++; begun[j] = true }
  :: atomic { before[AT(me, j)] == 0 && !MINE(me, j) -> leave(me, j); goto next }
#endif
  fi;
  if
  :: atomic { deaths > 0 -> die(me); goto died }
  :: atomic { calls[j]++; assert(calls[j] <= 1) }
  fi;
settle:
  atomic {
#ifndef SHARED_TOKEN
    takes[me]++;
#endif
    asks[me] = true
  };
end:
  /* settle, and take the next one */
  atomic {
    if
    :: place[j] != over ->
         place[j] = over; owner[j] = NOBODY; endedBy[j] = me; endToken[j] = runToken[AT(me, j)];
         takeOne(me)
#ifdef HOLD_WHEN_SETTLED
    :: place[j] == over && (endedBy[j] != me || endToken[j] != runToken[AT(me, j)]) -> takeOne(me)
#endif
    :: else -> /* refused, or sent again */
         hold(me);
         if :: !held -> takeOne(me) :: else fi
    fi
  };
  if
  :: atomic { losses > 0 -> loseReply(me); goto end }
  :: atomic { deaths > 0 -> die(me); goto died }
  :: atomic { leave(me, j); receive(me); goto next }
  fi;

take:
  atomic {
    held = false;
    if
    :: known[me] == takes[me] -> hold(me)
    :: else -> known[me] = takes[me]
    fi;
    if :: !held -> takeOne(me); takeOne(me) :: else fi
  };
  if
  :: atomic { losses > 0 -> loseReply(me); goto take }
  :: atomic { deaths > 0 -> die(me); goto died }
  :: atomic { receive(me); goto next }
  fi;

died:
  skip
}

/* The lock of a job that its worker does not renew, and the check for stalled jobs. */
#define UNRENEWED(j) (place[j] == taken && owner[j] != NOBODY && !asks[owner[j]] && !has[AT(owner[j], j)])
#define LOCKED(j)    (place[j] == taken && owner[j] != NOBODY && has[AT(owner[j], j)] && expiries > 0)

inline lapse(j) { owner[j] = NOBODY; place[j] = waiting }

proctype Redis() {
end_quiet:
  do
  :: atomic { UNRENEWED(0) -> lapse(0) }
  :: atomic { UNRENEWED(1) -> lapse(1) }
  :: atomic { UNRENEWED(2) -> lapse(2) }
  :: atomic { LOCKED(0) -> expiries--; stoodStill[0] = true; lapse(0) }
  od
}

/* When nothing can happen any more. */
proctype End() {
  timeout -> assert(place[0] == over && place[1] == over && place[2] == over)
}

init {
  atomic { run Worker(0); run Worker(1); run Redis(); run End() }
}
