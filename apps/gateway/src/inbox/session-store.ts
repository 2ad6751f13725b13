/** A person whom an OIDC provider authenticated, with their roles here. */
export interface Person {
  readonly tenant: string;
  readonly principal: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  /** The id of the proof: of the token, or of the sign-in at the provider. A session of an older version has none. */
  readonly credential?: string;
}

/** A session as it is kept: never with its id, only with the id's hash. */
export interface StoredSession {
  readonly idHash: string;
  /** SHA-256 of the token that opened it; null when a person signed in at their provider. */
  readonly tokenHash: string | null;
  /** Tenant and principal in one text. The sessions of one holder are counted together. */
  readonly holder: string;
  readonly person: Person | null;
  readonly openedAtMs: number;
  readonly expiresAtMs: number;
}

/** Where sessions are stored. Small and synchronous: every request of the inbox reads it. */
export interface SessionStore {
  readonly find: (idHash: string) => StoredSession | undefined;
  /** The session that the holder opened last at their provider, over or not. */
  readonly latestOfProvider: (holder: string) => StoredSession | undefined;
  /** Saves a session. Beyond `perHolderMax` it evicts the holder's oldest sessions, never another holder's. */
  readonly save: (session: StoredSession, perHolderMax: number) => void;
  readonly remove: (idHash: string) => void;
  /** Forgets what expired before this time. */
  readonly purge: (beforeMs: number) => void;
  readonly close: () => void;
}
