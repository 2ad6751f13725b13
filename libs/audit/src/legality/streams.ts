import type { GrantTerms, JsonObject } from '@countersign/contracts';
import type { CallState } from './call-state.js';

/** What the judge remembers of a grant. */
export interface GrantState {
  readonly kind: 'grant';
  readonly status: 'pending' | 'active' | 'revoked';
  readonly createdBy: string;
  /** The second person; null: it needed none so far. */
  readonly confirmedBy: string | null;
  readonly toolName: string;
  /** The highest risk of a rule that it may answer. */
  readonly risk: GrantTerms['risk'];
  readonly expiresAt: string;
  /** When it began to hold, by its record: it was given, or a second person confirmed it. */
  readonly givenAt: string;
  /** The policy named its creator when it was given. */
  readonly isListed: boolean;
  /** When it was revoked, by its word and by its record; null: it was not. */
  readonly revoked: { readonly at: string; readonly recordedAt: string } | null;
  /** How many backups had been restored when it was given. Absent: none. */
  readonly restores?: number;
  /** The groups of the creator's sign-in, and how sure it was. */
  readonly groups: readonly string[];
  readonly assurance: GrantTerms['assurance'];
  readonly usesMax: number;
  readonly callIds: readonly string[];
  /** The run that each of its uses names. */
  readonly runIds: readonly string[];
  /** The calls that it is about, besides their tool; null: every one. */
  readonly scope: {
    readonly runId: string | null;
    readonly agentId: string | null;
    readonly requestedBy: string | null;
    readonly labels: Readonly<Record<string, string>>;
    /** The digest of the tool's schema in the remembered call; null: it had none. Absent: no version recorded it, or nothing was remembered. */
    readonly toolSchemaHash?: string | null;
    /** It was remembered with an approval, so it is for the folder or the server of that call alone. */
    readonly isRemembered: boolean;
    /** Null: any arguments. A sealed salt is null. */
    readonly exactly: { readonly digest: string; readonly salt: string | null } | null;
    readonly hasCondition: boolean;
  };
}

/** Of a batch: what was decided, once. */
export interface BatchState {
  readonly kind: 'batch';
  readonly status: 'begun' | 'broken';
}

/** Of a tenant's policies: the versions that were recorded. */
export interface PolicyState {
  readonly kind: 'policy';
  readonly versions: readonly string[];
}

/** A registered passkey. */
export interface PasskeyState {
  readonly principal: string;
  /** The COSE key, base64url. */
  readonly publicKey: string;
  readonly rpId: string;
  readonly origin: string;
  readonly waitsFor: 'none' | 'any-passkey' | 'another-person';
  readonly status: 'waiting' | 'active' | 'removed';
  /** When its removal was recorded. Absent: it was not removed. */
  readonly removedAt?: string;
}

/** Of the passkeys of a tenant's people, by credential id. */
export interface PasskeysState {
  readonly kind: 'passkeys';
  readonly keys: Readonly<Record<string, PasskeyState>>;
}

/** A stream without rules of its own. */
export interface PlainState {
  readonly kind: 'plain';
}

/** The schema of a tool. No event has a stream of its name. */
export interface SchemaState {
  readonly kind: 'schema';
  readonly schema: JsonObject;
}

/** A stream with an event that cannot be read: what follows has no meaning without it. */
export interface SetAsideState {
  readonly kind: 'set-aside';
}

export type StreamState =
  CallState | GrantState | BatchState | PolicyState | PasskeysState | PlainState | SchemaState | SetAsideState;

/** A stream as the judge remembers it: plain data, so that a verifier with little memory may write it to a file. */
export interface KnownStream {
  /** The revision that its next event must have. */
  readonly next: number;
  /** Undefined: it has no legal event yet. */
  readonly state: StreamState | undefined;
  /** The newest schema version of its events; absent: 1. */
  readonly version?: number;
}

/** What the judge remembers of all streams. A `Map` is enough; a verifier of large logs keeps most of it in a file. */
export interface KnownStreams {
  readonly get: (stream: string) => KnownStream | undefined;
  readonly set: (stream: string, known: KnownStream) => unknown;
}
