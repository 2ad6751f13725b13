import { hash } from 'node:crypto';
import type { Actor, Role } from '@countersign/commands';
import type { Clock, Ids } from '@countersign/runtime';
import type { Tokens } from '../tokens.js';
import { actorFor } from './person.js';
import { isOfProvider } from './oidc-person.js';
import type { Person, SessionStore, StoredSession } from './session-store.js';

/** A newly opened session. Only the browser keeps its id. */
export interface OpenedSession {
  readonly id: string;
  readonly actor: Actor;
  readonly expiresAtMs: number;
}

/** The sessions of people at the web inbox. */
export interface Sessions {
  /** Opens a session for the token's owner; returns undefined for an unknown token. */
  readonly openWithToken: (token: string) => OpenedSession | undefined;
  /** Opens a session for a person whom their provider proved. */
  readonly openFor: (person: Person) => OpenedSession;
  /**
   * Returns the person of a session id; undefined when it expired, was closed, never existed, or its token was revoked.
   */
  readonly actorOf: (id: string) => Actor | undefined;
  /** Returns whether the person is signed in through their provider, which gave them this role. */
  readonly grants: (who: Pick<Actor, 'tenant' | 'principal'>, role: Role) => boolean;
  /** Returns whether the person is signed in through their provider, in any role. */
  readonly isSignedIn: (who: Pick<Actor, 'tenant' | 'principal'>) => boolean;
  /** The groups that the provider gave to a person who is signed in. */
  readonly groupsOf: (who: Pick<Actor, 'tenant' | 'principal'>) => readonly string[];
  readonly close: (id: string) => void;
}

/** The dependencies of sessions. */
export interface SessionPorts {
  readonly store: SessionStore;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** One working day; then a new sign-in is needed. */
const lifetimeMs = 12 * 60 * 60 * 1000;
const perPrincipalMax = 64;
const idBytes = 32;

/** Sessions over a store that keeps only hashes of ids, so a reader of the store can open none. */
export function createSessions({ store, tokens, clock, ids }: SessionPorts): Sessions {
  const open = (actor: Actor, tokenHash: string | null, person: Person | null): OpenedSession => {
    const id = Buffer.from(ids.randomBytes(idBytes)).toString('base64url');
    const openedAtMs = clock.now();
    const expiresAtMs = openedAtMs + lifetimeMs;
    store.purge(openedAtMs);
    store.save(
      { idHash: hashOf(id), tokenHash, holder: holderOf(actor), person, openedAtMs, expiresAtMs },
      perPrincipalMax,
    );
    return { id, actor: { ...actor, session: `sha256:${hashOf(id)}` }, expiresAtMs };
  };
  const signedIn = (who: Pick<Actor, 'tenant' | 'principal'>): Actor | undefined => {
    // Each response asks several times, and the store is a file: only people of a provider are looked up in it.
    if (!isOfProvider(who)) return undefined;
    const session = store.latestOfProvider(holderOf(who));
    const isOver = session === undefined || session.expiresAtMs <= clock.now();
    return isOver || session.person === null ? undefined : actorFor(session.person);
  };
  const actorOfSession = ({ tokenHash, person }: StoredSession): Actor | undefined => {
    // The token is looked up each time: a session must not outlast its token, nor keep removed roles.
    if (tokenHash !== null) return tokens.actorOfHash(tokenHash);
    return person === null ? undefined : actorFor(person);
  };
  return {
    openWithToken: (token) => {
      const tokenHash = hashOf(token);
      const actor = tokens.actorOfHash(tokenHash);
      return actor === undefined ? undefined : open(actor, tokenHash, null);
    },
    openFor: (person) => open(actorFor(person), null, person),
    actorOf: (id) => {
      const session = store.find(hashOf(id));
      if (session === undefined || session.expiresAtMs <= clock.now()) return undefined;
      const actor = actorOfSession(session);
      if (actor === undefined) return undefined;
      const { idHash, expiresAtMs } = session;
      return { ...actor, session: `sha256:${idHash}`, expiresAt: new Date(expiresAtMs).toISOString() };
    },
    grants: (who, role) => signedIn(who)?.roles.has(role) === true,
    isSignedIn: (who) => signedIn(who) !== undefined,
    groupsOf: (who) => signedIn(who)?.groups ?? [],
    close: (id) => {
      store.remove(hashOf(id));
    },
  };
}

function holderOf({ tenant, principal }: Pick<Actor, 'tenant' | 'principal'>): string {
  return JSON.stringify([tenant, principal]);
}

function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}
