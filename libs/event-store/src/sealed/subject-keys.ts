import type { KeyObject } from 'node:crypto';

/** A key of one subject. Its id is no secret. */
export interface SubjectKey {
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * The tenant and the name that the key of the known requests has. No subject has them: tenants have at least one
 * character.
 */
export const requestsOwner = ['', 'answers'] as const;

/** Returns a key by its id; `erased` and `missing` as in {@link SubjectKeys}. */
export type FindKey = (id: string) => KeyObject | 'erased' | 'missing';

/** The keys as a sealed store needs them: here, or at another process. */
export interface StoreKeys extends Pick<SubjectKeys, 'current'> {
  /** Brings the keys of a page, before it is opened. @throws KeysUnavailableError */
  readonly load: (ids: readonly string[]) => FindKey | Promise<FindKey>;
}

type Steps = 'hashOf' | 'idsOf' | 'retire' | 'beginErasing' | 'keep' | 'destroy';

/** The steps of an erasure, which may take time where the keys are elsewhere. */
export type ErasureKeys = {
  readonly [Step in Steps]: (
    ...args: Parameters<SubjectKeys[Step]>
  ) => ReturnType<SubjectKeys[Step]> | Promise<ReturnType<SubjectKeys[Step]>>;
};

/**
 * One key per subject, and another one after each erasure.
 *
 * MUST for every adapter: a key is durable before `current` gives it; a destroyed key is in no file any more, once
 * `destroy` returned.
 */
export interface SubjectKeys {
  /** Returns the key for new values of a subject; makes it at the first use. */
  readonly current: (tenant: string, subject: string) => SubjectKey | Promise<SubjectKey>;
  /**
   * Returns a key by its id, `erased` for one that is destroyed or about to be, and `missing` for an id that was never
   * there or is lost.
   */
  readonly find: FindKey;
  /** Returns `find`: the keys are here. */
  readonly load: (ids: readonly string[]) => FindKey;
  /** Like `find`, and still returns a key that is about to be destroyed: for copies that are rewritten meanwhile. */
  readonly findForCopies: (id: string) => KeyObject | undefined;
  /** The keyed hash of a subject, which names its stream. */
  readonly hashOf: (tenant: string, subject: string) => string;
  /** The ids of the subject's keys that are not destroyed. */
  readonly idsOf: (tenant: string, subject: string) => readonly string[];
  /** Returns the ids of the subject's keys. From now on its new values get another key. */
  readonly retire: (tenant: string, subject: string) => readonly string[];
  /** The values under these keys read as erased from now on. Durable, and taken back by `keep`. */
  readonly beginErasing: (ids: readonly string[]) => void;
  /** Takes an erasure back that was not recorded. */
  readonly keep: (ids: readonly string[]) => void;
  readonly destroy: (ids: readonly string[]) => void;
  /** The ids of the keys whose erasure was begun and not finished. */
  readonly erasing: () => readonly string[];
  /** The number of keys that were ever made. */
  readonly keysMade: () => number;
  /** A hash of the ids of all keys that are destroyed, about to be, or given up, except those of the kept responses. */
  readonly erasedKeys: () => string;
  /** The keys were made now and are not confirmed yet. If the log already has sealed values, their keys are lost. */
  readonly isNew: boolean;
  /** The keys belong to the log from now on. */
  readonly confirm: () => void;
  readonly close: () => void;
}
