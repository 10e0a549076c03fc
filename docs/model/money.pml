/*
 * Budgets at every scope, for spin to search exhaustively: `npm run model`.
 *
 * Three requests reserve 2 each and cost 1. The budget of the workspace (4) is for all of them, and that of an end user (2) for the
 * first two. A request reserves in all budgets that concern it or in none. One that would fit if the others gave back what they
 * hold waits; the step that gives something back reserves for those that wait, the oldest first, and sends them a message. A
 * request whose reservation has lapsed before its job is queued asks again. Faults, each bounded: the api of a request dies at
 * any step, and then what is held for it lapses; a reservation lapses although its request is only slow. Steps that are one script in the code are atomic here, and nothing else is.
 *
 * Held in every state: no budget has more spent and reserved than its amount, except for what a slow request costs after its
 * job was queued and its reservation has lapsed. Nothing is given back twice. At the end of every run nothing is reserved, and every request is over.
 *
 * With -DONE_BY_ONE a request reserves in one budget after the other. With -DNO_WAKE nobody is told when something is given back.
 * With -DSPENT_ONLY what is reserved does not count. With -DGIVE_BACK_TWICE a slow request gives back what has lapsed. With
 * -DNO_LAPSE what was reserved for a request whose api has died since stays. With -DQUEUE_ANYWAY a job is queued although its
 * reservation has lapsed. Each of these searches must find a fault.
 */
#define REQUESTS 3
#define RESERVES 2
#define COST     1

mtype = { new, waits, told, admitted, queued, refused, settled, dead };
mtype state[REQUESTS] = new;
bool holds[REQUESTS];           /* its member of the reservations */
short reservedAll, reservedUser;
byte spentAll, spentUser;
byte deaths = 1, slow = 1;
bool anySlow;

#define LIMIT_ALL  4
#define LIMIT_USER 2
#define OF_USER(r) ((r) < 2)

#ifdef SPENT_ONLY
#define HELD_ALL  0
#define HELD_USER 0
#else
#define HELD_ALL  reservedAll
#define HELD_USER reservedUser
#endif

#define NEVER_FITS(r) (spentAll + RESERVES > LIMIT_ALL || (OF_USER(r) && spentUser + RESERVES > LIMIT_USER))
#define FITS_ALL      (spentAll + HELD_ALL + RESERVES <= LIMIT_ALL)
#define FITS_USER(r)  (!OF_USER(r) || spentUser + HELD_USER + RESERVES <= LIMIT_USER)

inline check() {
  assert(reservedAll >= 0 && reservedUser >= 0);
  assert(anySlow || (spentAll + reservedAll <= LIMIT_ALL && spentUser + reservedUser <= LIMIT_USER))
}

inline take(r) {
  holds[r] = true; reservedAll = reservedAll + RESERVES;
  if :: OF_USER(r) -> reservedUser = reservedUser + RESERVES :: else fi;
  check()
}

inline giveBack(r) {
  holds[r] = false; reservedAll = reservedAll - RESERVES;
  if :: OF_USER(r) -> reservedUser = reservedUser - RESERVES :: else fi;
  check()
}

/* letWaitersIn: a request that has died is not known here, so room is made for it, too. Those of the end user have a lane. */
inline wake() {
#ifdef NO_WAKE
  skip
#else
  d_step {
    byte w = 0;
    do
    :: w < REQUESTS && state[w] == waits && NEVER_FITS(w) -> state[w] = told; w++
    :: w < REQUESTS && state[w] == waits && !NEVER_FITS(w) && FITS_ALL && FITS_USER(w) -> take(w); state[w] = told; w++
    :: w < REQUESTS && !(state[w] == waits && (NEVER_FITS(w) || (FITS_ALL && FITS_USER(w)))) -> w++
    :: w == REQUESTS -> break
    od;
    w = 0
  }
#endif
}

proctype Request(byte r) {
ask:
  if
#ifdef ONE_BY_ONE
  :: atomic { !NEVER_FITS(r) && FITS_ALL -> reservedAll = reservedAll + RESERVES };
     atomic { FITS_USER(r) -> holds[r] = true; state[r] = admitted;
       if :: OF_USER(r) -> reservedUser = reservedUser + RESERVES :: else fi }
#else
  :: atomic { holds[r] -> state[r] = admitted }           /* room was made for it */
  :: atomic { !holds[r] && !NEVER_FITS(r) && FITS_ALL && FITS_USER(r) -> take(r); state[r] = admitted }
  :: atomic { !holds[r] && !NEVER_FITS(r) && !(FITS_ALL && FITS_USER(r)) -> state[r] = waits }
#endif
  :: atomic { !holds[r] && NEVER_FITS(r) -> state[r] = refused; goto over }
  fi;
  if
  :: state[r] == waits -> (state[r] != waits); if :: state[r] == told -> goto ask :: else -> goto over fi
  :: state[r] == told -> goto ask
  :: state[r] == admitted -> skip
  :: state[r] == dead -> goto over
  fi;
  /* addReserved: the job is queued only if its reservation is there */
  atomic {
    if
#ifdef QUEUE_ANYWAY
    :: state[r] == admitted -> state[r] = queued
#else
    :: state[r] == admitted && holds[r] -> state[r] = queued
    :: state[r] == admitted && !holds[r] -> goto ask
#endif
    :: else -> goto over
    fi
  };
  /* settle: mark, ledger and counters in one script */
  atomic {
    if
    :: state[r] == queued ->
      state[r] = settled;
      if
      :: holds[r] -> giveBack(r)
#ifdef GIVE_BACK_TWICE
      :: !holds[r] -> giveBack(r)
#else
      :: !holds[r] -> skip
#endif
      fi;
      spentAll = spentAll + COST;
      if :: OF_USER(r) -> spentUser = spentUser + COST :: else fi;
      check();
      wake()
    :: else
    fi
  }
over: skip
}

/* Whose api has died, and reservations that lapse: at the next admission, which comes in any case. */
proctype Faults() {
  byte r;
end:
  do
  :: atomic { deaths > 0 -> deaths--; select(r : 0 .. 2);
       if :: state[r] == waits || state[r] == told || state[r] == admitted || state[r] == queued -> state[r] = dead :: else fi }
  :: atomic { slow > 0 -> slow--; select(r : 0 .. 2);
       if
       :: state[r] == admitted && holds[r] -> giveBack(r); wake()
       :: state[r] == queued && holds[r] -> anySlow = true; giveBack(r); wake()
       :: else
       fi }
#ifndef NO_LAPSE
  :: atomic { state[0] == dead && holds[0] -> giveBack(0); wake() }
  :: atomic { state[1] == dead && holds[1] -> giveBack(1); wake() }
  :: atomic { state[2] == dead && holds[2] -> giveBack(2); wake() }
#endif
  od
}

#define OVER(r) (state[r] == settled || state[r] == refused || state[r] == dead)

init {
  atomic { run Request(0); run Request(1); run Request(2); run Faults() }
  timeout;
  assert(OVER(0) && OVER(1) && OVER(2));
  assert(reservedAll == 0 && reservedUser == 0)
}
