import type { PasskeyAssertion, PasskeyEvent, PasskeyEventData } from '@countersign/contracts';
import { accepted, refused } from './decider.js';
import type { Decider, RuleResult } from './decider.js';
import { isSameIdentity } from './identity.js';
import { toStored } from './time.js';

type Registered = PasskeyEventData<'PasskeyRegistered'>;

/** A registered passkey. It waits until it is confirmed, and a removed one never counts again. */
export interface Passkey extends Registered {
  readonly status: 'waiting' | 'active' | 'removed';
  readonly confirmedBy: string | null;
}

/** The passkeys of a tenant's people, by credential id, in the order of their registration. */
export interface Passkeys {
  readonly keys: ReadonlyMap<string, Passkey>;
}

interface Timed {
  /** The moment at which the command is decided, epoch milliseconds. */
  readonly at: number;
}

/** A signed-in person registers a passkey. The caller has verified the registration. */
export interface RegisterPasskey extends Timed {
  readonly type: 'RegisterPasskey';
  readonly passkey: Omit<Registered, 'waitsFor' | 'registeredAt'>;
  /** The policy wants a second person to confirm each passkey. */
  readonly needsSecondPerson: boolean;
}

/** A person confirms a passkey that waits. The caller has verified the assertion. */
export interface ConfirmPasskey extends Timed {
  readonly type: 'ConfirmPasskey';
  readonly credentialId: string;
  readonly confirmedBy: string;
  /** Other names of the same person. Default: none. */
  readonly aliases?: readonly string[];
  /** Null: the person confirms it by their sign-in alone. */
  readonly assertion: PasskeyAssertion | null;
}

/** A person removes a passkey of their own. */
export interface RemovePasskey extends Timed {
  readonly type: 'RemovePasskey';
  readonly credentialId: string;
  readonly removedBy: string;
}

export type PasskeyCommand = RegisterPasskey | ConfirmPasskey | RemovePasskey;

/** How many passkeys a person may have, and how many they may ever have had. */
const [passkeysMax, everMax] = [16, 64];

/** The passkey with this id while it counts; undefined: none does. */
export function passkeyInForce({ keys }: Passkeys, credentialId: string): Passkey | undefined {
  const found = keys.get(credentialId);
  return found?.status === 'active' ? found : undefined;
}

function isOf({ principal }: Pick<Passkey, 'principal'>, names: readonly string[]): boolean {
  return names.some((name) => isSameIdentity(name, principal));
}

/**
 * The first passkey of a person counts at once. Attack: an operator registers another one in the name of a person, so each
 * further one waits for a signature with a passkey that counts already.
 */
function register({ passkey, needsSecondPerson, at }: RegisterPasskey, { keys }: Passkeys): RuleResult<PasskeyEvent> {
  if (keys.has(passkey.credentialId)) return refused('forbidden', 'This passkey was registered before.');
  const own = [...keys.values()].filter((one) => isOf(one, [passkey.principal]));
  if (own.filter(({ status }) => status !== 'removed').length >= passkeysMax) {
    return tooManyPasskeys(`A person has at most ${String(passkeysMax)} passkeys: remove one.`, passkeysMax);
  }
  if (own.length >= everMax) {
    return tooManyPasskeys(`A person registers at most ${String(everMax)} passkeys in all.`, everMax);
  }
  const others = own.length === 0 ? 'none' : 'any-passkey';
  const waitsFor = needsSecondPerson ? 'another-person' : others;
  return accepted({ type: 'PasskeyRegistered', data: { ...passkey, waitsFor, registeredAt: toStored(at) } });
}

function tooManyPasskeys(detail: string, limit: number): RuleResult<never> {
  return refused('too-many', detail, { limit });
}

function confirm(command: ConfirmPasskey, state: Passkeys): RuleResult<PasskeyEvent> {
  const { credentialId, confirmedBy, assertion, at } = command;
  const waiting = state.keys.get(credentialId);
  if (waiting === undefined) return refused('not-requested', 'No such passkey is registered.');
  if (waiting.status === 'active') return accepted();
  if (waiting.status === 'removed') return refused('already-settled', 'The passkey is removed.');
  return (
    mayNotConfirm(command, waiting, state) ??
    accepted({
      type: 'PasskeyConfirmed',
      data: { credentialId, confirmedBy, ...(assertion !== null && { assertion }), confirmedAt: toStored(at) },
    })
  );
}

function mayNotConfirm(
  { confirmedBy, aliases = [], assertion }: ConfirmPasskey,
  waiting: Passkey,
  state: Passkeys,
): RuleResult<never> | undefined {
  const names = [confirmedBy, ...aliases];
  const isOwn = isOf(waiting, names);
  if (isOwn && waiting.waitsFor === 'another-person') {
    return refused('own-request', 'The policy wants another person to confirm your passkey.');
  }
  if (assertion !== null) {
    const key = passkeyInForce(state, assertion.credentialId);
    return key !== undefined && isOf(key, [confirmedBy])
      ? undefined
      : refused('signature-required', 'Sign with a passkey of yours that counts already.');
  }
  // Attack: an operator confirms with the sign-in of another person what they registered in the name of the first.
  return isOwn || [...state.keys.values()].some(({ status }) => status === 'active')
    ? refused('signature-required', 'Sign the confirmation with a passkey of yours that counts already.')
    : undefined;
}

function remove({ credentialId, removedBy, at }: RemovePasskey, { keys }: Passkeys): RuleResult<PasskeyEvent> {
  const found = keys.get(credentialId);
  if (found === undefined || !isOf(found, [removedBy])) {
    return refused('not-requested', 'You have no such passkey.');
  }
  if (found.status === 'removed') return accepted();
  return accepted({ type: 'PasskeyRemoved', data: { credentialId, removedBy, removedAt: toStored(at) } });
}

function decide(command: PasskeyCommand, state: Passkeys): RuleResult<PasskeyEvent> {
  switch (command.type) {
    case 'RegisterPasskey':
      return register(command, state);
    case 'ConfirmPasskey':
      return confirm(command, state);
    case 'RemovePasskey':
      return remove(command, state);
  }
}

function evolve({ keys }: Passkeys, event: PasskeyEvent): Passkeys {
  const { credentialId } = event.data;
  const known = keys.get(credentialId);
  const next = after(known, event);
  return next === known || next === undefined ? { keys } : { keys: new Map(keys).set(credentialId, next) };
}

function after(known: Passkey | undefined, event: PasskeyEvent): Passkey | undefined {
  switch (event.type) {
    case 'PasskeyRegistered':
      return (
        known ?? { ...event.data, status: event.data.waitsFor === 'none' ? 'active' : 'waiting', confirmedBy: null }
      );
    case 'PasskeyConfirmed':
      return known?.status === 'waiting' ? { ...known, status: 'active', confirmedBy: event.data.confirmedBy } : known;
    case 'PasskeyRemoved':
      return known && { ...known, status: 'removed' };
  }
}

/**
 * The decider of the stream `passkeys-<tenant>`. All passkeys of a tenant are in one order there, so two processes register
 * no two first ones for a person.
 */
export const passkeyDecider: Decider<Passkeys, PasskeyCommand, PasskeyEvent> = {
  initialState: () => ({ keys: new Map() }),
  decide,
  evolve,
  isTerminal: () => false,
};
