/*
 * The division of a provider's limit between shards, for spin to search exhaustively: `npm run model`.
 *
 * Two shards with a limit of one call at a time, each with a job. A worker looks at its shard, asks the control keys for a part,
 * and applies it. Each of these is one script in the code and atomic here, and nothing else is. Two workers serve the first shard,
 * and may stand still between any two steps, so that grants come late. Faults, each bounded: a worker dies at any step, and its
 * reply is lost; a shard is cut off from the control keys, its lease runs out, its part is taken back, and it is heard of again.
 * With -DTHREE three shards have a limit of two, without faults.
 *
 * Held in every state: the calls that run, and those that may be taken without asking, are together no more than the limit.
 * At the end of every run every job has run.
 *
 * With -DNO_CONFIRM a part that shrinks is given away before its shard has it. With -DNO_VERSION a shard takes late grants for
 * new ones. With -DNO_LEASE a shard that is cut off goes on. With -DRENEW_LATE late grants renew a lease that has run out. With
 * -DEQUAL_PARTS each shard has the same part, which is none. With -DNO_RECLAIM a silent shard keeps its part for ever. With
 * -DLOWER_NEVER a shard keeps what it has got. Each of these searches must find a fault.
 */
#define SHARDS 3
#define CUT    2 /* the shard that may be cut off */

#ifdef THREE
#define LIMIT  2
#define FAULTS 0
#else
#define LIMIT  1
#define FAULTS 1
#endif

byte waiting[SHARDS];
byte running[SHARDS];

/* in the shard's slot */
byte version[SHARDS];
byte grant[SHARDS];
bool leased[SHARDS];
byte lapses[SHARDS];      /* how often its lease ran out */

/* in the control slot */
byte issued[SHARDS];      /* the version */
byte granted[SHARDS];
byte held[SHARDS];        /* what it may use at most */
byte used[SHARDS];        /* as it told last */
byte wants[SHARDS];
byte heard[SHARDS];       /* ... before which lapse */
byte served[SHARDS];      /* when it had its last turn */
byte turns;

bool tookOne[SHARDS];     /* its turn may be over */
bool news[SHARDS];        /* asking may change something */
bool isCut;
hidden byte target, room, before;
byte deaths = FAULTS, cuts = FAULTS;

#define MAX(a, b)   ((a) > (b) -> (a) : (b))
#define MIN(a, b)   ((a) < (b) -> (a) : (b))
#define OF(i)       (running[i] + ((leased[i] && grant[i] > running[i]) -> grant[i] - running[i] : 0))
#define OTHER(i)    ((i + 1) % SHARDS)
#define THIRD(i)    ((i + 2) % SHARDS)
#define INTURN(i)   (granted[i] > 0 && !tookOne[i])
#define LACKS(i)    (wants[i] > 0 && granted[i] == 0)
/* whether j comes before i */
#define BEFORE(j, i) (wants[j] > 0 && (INTURN(j) && !INTURN(i) || INTURN(j) == INTURN(i) && \
  (served[j] < served[i] || served[j] == served[i] && j < i)))

inline check() { assert(OF(0) + OF(1) + OF(2) <= LIMIT) }

inline tellAll() { news[0] = true; news[1] = true; news[2] = true }

/* What shard i is to have, by what is known of all. */
inline aim(i) {
#ifdef EQUAL_PARTS
  target = LIMIT / SHARDS;
#else
  if
  :: wants[OTHER(i)] == 0 && wants[THIRD(i)] == 0 -> target = MIN(LIMIT, used[i] + wants[i])
  :: else ->
       if
       :: wants[i] == 0 -> target = used[i]
       :: wants[i] > 0 && BEFORE(OTHER(i), i) + BEFORE(THIRD(i), i) < LIMIT -> target = 1
       :: else -> target = 0
       fi
  fi
#endif
}

inline divide(i) {
  before = granted[i];
  if
  :: used[i] != sawUsed || wants[i] != sawWants -> used[i] = sawUsed; wants[i] = sawWants; tellAll()
  :: else
  fi;
  heard[i] = lapse;
  if
  :: saw == issued[i] && held[i] != MAX(granted[i], sawUsed) -> held[i] = MAX(granted[i], sawUsed); tellAll()
  :: else
  fi;
  aim(i);
  room = LIMIT - MIN(LIMIT, held[OTHER(i)] + held[THIRD(i)]);
  if
#ifndef LOWER_NEVER
  :: target < before && (LACKS(OTHER(i)) || LACKS(THIRD(i))) -> granted[i] = target
#endif
  :: target > before -> granted[i] = MIN(target, MAX(before, room))
  :: else
  fi;
#ifdef NO_CONFIRM
  held[i] = granted[i];
#else
  held[i] = MAX(held[i], granted[i]);
#endif
  if
  :: granted[i] != before ->
       issued[i]++;
       if :: before == 0 -> tookOne[i] = false; turns++; served[i] = turns :: else fi;
       tellAll()
  :: else
  fi;
  got = issued[i]; gotGrant = granted[i]
}

inline apply(i) {
#ifdef RENEW_LATE
  if :: true ->
#else
  if :: lapse == lapses[i] ->
#endif
#ifdef NO_VERSION
       if :: got != version[i] -> version[i] = got; grant[i] = gotGrant; news[i] = true :: else fi;
#else
       if :: got > version[i] -> version[i] = got; grant[i] = gotGrant; news[i] = true :: else fi;
#endif
       if :: got >= version[i] -> leased[i] = true :: else fi
  :: else
  fi;
  check()
}

proctype Worker(byte i; bool goesOn) {
  byte saw, sawUsed, sawWants, lapse, got, gotGrant;

look:
end_look:
  atomic {
    news[i] && !(isCut && i == CUT) ->
      news[i] = false; saw = version[i]; sawUsed = running[i]; sawWants = waiting[i]; lapse = lapses[i]
  };
end_ask:
  if
  :: atomic { deaths > 0 -> deaths--; news[i] = true; saw = 0; sawUsed = 0; sawWants = 0; lapse = 0; got = 0; gotGrant = 0; goto look }
  :: atomic { !(isCut && i == CUT) -> divide(i) }
  fi;
  if
  :: atomic { deaths > 0 -> deaths--; news[i] = true; saw = 0; sawUsed = 0; sawWants = 0; lapse = 0; got = 0; gotGrant = 0; goto look }
  :: atomic { apply(i); saw = 0; sawUsed = 0; sawWants = 0; lapse = 0; got = 0; gotGrant = 0 }
  fi;
  if :: goesOn -> goto look :: else fi
}

#ifdef NO_LEASE
#define MAYTAKE(i) (waiting[i] > 0 && running[i] < grant[i])
#else
#define MAYTAKE(i) (waiting[i] > 0 && running[i] < grant[i] && leased[i])
#endif

proctype Calls(byte i) {
end:
  do
  :: atomic { MAYTAKE(i) -> waiting[i]--; running[i]++; tookOne[i] = true; news[i] = true; check() }
  :: atomic { running[i] > 0 -> running[i]--; news[i] = true }
  od
}

proctype Time() {
end:
  do
  :: atomic { cuts > 0 -> cuts--; isCut = true }
  :: atomic { isCut && lapses[CUT] == heard[CUT] -> lapses[CUT]++; leased[CUT] = false }
#ifndef NO_RECLAIM
  /* so long after the last word of the shard that its lease has run out, and all its calls have ended */
  :: atomic { isCut && lapses[CUT] > heard[CUT] && running[CUT] == 0 && held[CUT] > 0 ->
       issued[CUT]++; granted[CUT] = 0; held[CUT] = 0; used[CUT] = 0; wants[CUT] = 0; tellAll(); check() }
  :: atomic { isCut && lapses[CUT] > heard[CUT] && held[CUT] == 0 && running[0] + running[1] + waiting[0] + waiting[1] == 0 ->
       isCut = false; news[CUT] = true }
#endif
  od
}

/* When nothing can happen any more. */
proctype End() {
  timeout -> assert(waiting[0] + waiting[1] == 0 && (isCut || waiting[CUT] == 0))
}

init {
  atomic {
    waiting[0] = 1; waiting[2] = 1;
    tellAll();
    run Worker(0, true); run Calls(0); run Worker(2, true); run Calls(2);
#ifdef THREE
    waiting[1] = 1;
    run Worker(1, true); run Calls(1);
#else
    run Worker(0, false);
#endif
    run Time(); run End()
  }
}
