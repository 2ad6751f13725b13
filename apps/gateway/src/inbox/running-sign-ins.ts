import type { Clock, Ids } from '@countersign/runtime';
import type { RunningSignIn } from './oidc.js';
import { createSignInSeal } from './sign-in-seal.js';

/** A sign-in whose person is at the provider. */
export interface BegunSignIn extends RunningSignIn {
  readonly redirectUri: string;
  readonly returnTo: string;
}

/** The running sign-ins. Each one lives in its own browser, so others cannot evict it. */
export interface RunningSignIns {
  /** Returns the value of the browser's cookie. */
  readonly begin: (signIn: BegunSignIn) => string;
  /** Returns the sign-in of a cookie once; undefined when it is used, older than ten minutes, or not ours. */
  readonly take: (cookie: string) => BegunSignIn | undefined;
}

/** The time that a person may take at the provider. */
export const signInMsMax = 10 * 60 * 1000;
/**
 * Beyond this number, a used cookie could be accepted again; the provider still refuses its code, which is for a single
 * use.
 */
const usedMax = 10_000;

interface Sealed extends BegunSignIn {
  readonly startedAtMs: number;
}

/** Running sign-ins whose cookies are sealed under `secret`. */
export function createRunningSignIns(secret: Uint8Array, { clock, ids }: { clock: Clock; ids: Ids }): RunningSignIns {
  const seal = createSignInSeal(secret, ids.randomBytes);
  const used = new Set<string>();
  return {
    begin: (signIn) => seal.seal(JSON.stringify({ ...signIn, startedAtMs: clock.now() } satisfies Sealed)),
    take: (cookie) => {
      const text = seal.open(cookie);
      if (text === undefined) return undefined;
      const { startedAtMs, ...signIn } = JSON.parse(text) as Sealed;
      if (used.has(signIn.state) || startedAtMs < clock.now() - signInMsMax) return undefined;
      used.add(signIn.state);
      for (const oldest of used) {
        if (used.size <= usedMax) break;
        used.delete(oldest);
      }
      return signIn;
    },
  };
}
