import { createHmac, timingSafeEqual } from 'node:crypto';
import { jcsDigest } from '@countersign/contracts';
import { CountersignError } from './errors.js';
import type { RunState } from './state.js';

/** Binds the states of a worker to users of the application, and checks them when they come back. */
export interface StateBinding {
  /** Returns the state as one that only the same `bindTo` resumes; undefined: as one of no user. */
  readonly bind: (state: RunState, bindTo: string | undefined) => RunState;
  /**
   * Attack: a user resumes the state of another one, so that the approved call of that one runs, and this one gets the
   * output. The proof covers the whole state, so a user cannot move it to another state either.
   * @throws CountersignError `state-not-bound` for a state of another user, or of none, or one that was changed.
   */
  readonly check: (state: RunState, bindTo: string | undefined) => void;
}

/** @param key a secret that no user knows. */
export function createStateBinding(key: string): StateBinding {
  const proofOf = ({ binding: _, ...state }: RunState, bindTo: string): string => {
    const digest = jcsDigest([bindTo, { ...state, sequential: state.sequential ?? false }]);
    return createHmac('sha256', key).update(`countersign-run-state ${digest}`).digest('base64url');
  };
  return {
    bind: (state, bindTo) => (bindTo === undefined ? unbound(state) : { ...state, binding: proofOf(state, bindTo) }),
    check: (state, bindTo) => {
      const { binding } = state;
      if (bindTo === undefined && binding === undefined) return;
      if (bindTo === undefined) throw notBound('it is bound to a user: pass the `bindTo` with which it was made');
      if (binding === undefined) throw notBound('it is bound to no user, but `bindTo` names one');
      const [given, own] = [Buffer.from(binding), Buffer.from(proofOf(state, bindTo))];
      if (given.length !== own.length || !timingSafeEqual(given, own)) {
        throw notBound('it is not the state of the user in `bindTo`, it was changed, or the `stateKey` is another one');
      }
    },
  };
}

/** Throws a TypeError for an empty text: a program that does not know its user would bind all states to the same one. */
export function checkBindTo(bindTo: string | undefined): void {
  if (bindTo !== undefined && bindTo.trim() === '')
    throw new TypeError('bindTo is empty: name the user, or leave it out');
}

function unbound({ binding: _, ...state }: RunState): RunState {
  return state;
}

function notBound(why: string): CountersignError {
  const message = `the state is not resumed: ${why}. \`restore\` makes a new state of the run.`;
  return new CountersignError({ code: 'state-not-bound', message });
}
