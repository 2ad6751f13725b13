import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLegality, readStored } from '@countersign/audit';
import type { Illegal, KnownStream, Unproven } from '@countersign/audit';
import * as api from '@countersign/commands';
import type { Actor, CommandPorts, Role } from '@countersign/commands';
import {
  actionDigest,
  approvalIdOf,
  deriveCallId,
  displayDigest,
  passkeysStream,
  policyStream,
  toolCallStream,
} from '@countersign/contracts';
import type { ApprovalView, EventData, JsonObject, RecordedEvent, RespondBody } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { answerChallenge, confirmationChallenge, registrationChallenge } from '@countersign/passkeys';
import { createAuthenticator } from '@countersign/passkeys/testing';
import type { Authenticator } from '@countersign/passkeys/testing';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { foldCall, toApprovalView } from '@countersign/read-model';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import fc from 'fast-check';

const yaml = `
version: 1
rules:
  - { id: two, match: { tools: [two, lost] }, then: { require: { requireSignature: true, quorum: { approve: 2 } } } }
  - { id: pay, then: { require: { minAssurance: high } } }
`;
const site = { rpId: 'countersign.example', origin: 'https://countersign.example' };
const tenant = 'default';
const actor = (principal: string, role: Role): Actor => ({
  ...{ tenant, principal, roles: new Set([role]), groups: [], agentIds: ['*'], via: 'inbox', assurance: 'medium' },
  session: `sha256:${'0'.repeat(64)}`,
});
const [alice, bob, agent] = [actor('alice', 'approver'), actor('bob', 'approver'), actor('agent', 'agent')];
const keys = {
  alice: createAuthenticator('ES256'),
  bob: createAuthenticator('EdDSA'),
  spare: createAuthenticator('RS256'),
};
const stolen = createAuthenticator('ES256');

let last = 0;
const next = (): string => String(++last).padStart(22, 'n');
const callId = (name: string): string => deriveCallId(tenant, 'run', name);
const approvalId = (name: string): string => approvalIdOf(callId(name), 1);

let ports: CommandPorts;
let honest: readonly RecordedEvent[] = [];
let closeStore = (): Promise<void> => Promise.resolve();

/** The answer to a call, signed by the person's browser over the card that it shows. */
async function signedBody(
  key: Authenticator,
  name: string,
  body: RespondBody,
  changed: Partial<ApprovalView> = {},
): Promise<RespondBody> {
  const view = { ...(await viewOf(name)), ...changed };
  const { approvalId: id, requestedBy, reason, description, instructions, proposal } = view;
  const { runId, agentId, toolCallId, toolName, owner, onBehalfOf, labels, title, toolDescription, metadata } = view;
  const shown = displayDigest({
    ...{ approvalId: id, requestedBy, reason, description, instructions, proposalDigest: proposal.digest },
    asked: proposal.kind === 'answer' ? proposal.output : view.arguments,
    call: {
      callId: view.callId,
      runId,
      agentId,
      toolCallId,
      toolName,
      owner,
      onBehalfOf,
      labels,
      title,
      toolDescription,
      metadata,
    },
  });
  const { decision, instruction = null } = body;
  const nonce = next();
  const challenge = answerChallenge({
    ...{ proposalDigest: proposal.digest, displayDigest: shown, decision, instruction: instruction ?? null, nonce },
  });
  return { ...body, signature: { ...key.sign(challenge, nonce, site), displayDigest: shown } };
}

let read: (stream: string) => Promise<readonly RecordedEvent[]>;

async function viewOf(name: string): Promise<ApprovalView> {
  const call = foldCall(await read(toolCallStream(callId(name))));
  const approval = call?.approvals.at(-1);
  if (call === undefined || approval === undefined) throw new Error(`${name} has no approval`);
  return toApprovalView({ call, approval }, 'masked');
}

async function answer(person: Actor, key: Authenticator, name: string, body: RespondBody): Promise<void> {
  const outcome = await api.respond(ports, person, approvalId(name), await signedBody(key, name, body), next());
  if (outcome.status !== 'done') throw new Error(JSON.stringify(outcome.refusal));
}

async function register(person: Actor, key: Authenticator): Promise<void> {
  const nonce = next();
  const challenge = registrationChallenge({ tenant, principal: person.principal, rpId: site.rpId, nonce });
  const made = { name: 'key', nonce, transports: [], ...key.register(challenge, site) };
  await api.registerPasskey(ports, person, site, made, next());
}

/** Passkeys of two people, and every kind of signed response, as the server records them. */
async function writeHonestLog(): Promise<void> {
  await register(alice, keys.alice);
  await register(bob, keys.bob);
  await register(alice, keys.spare);
  const { credentialId, publicKey } = keys.spare;
  const nonce = next();
  const challenge = confirmationChallenge({ tenant, principal: 'alice', credentialId, publicKey, nonce });
  await api.confirmPasskey(ports, alice, credentialId, { assertion: keys.alice.sign(challenge, nonce, site) }, next());
  const names = ['approve', 'deny', 'edit', 'answer', 'hidden', 'two'];
  const calls = names.map((toolCallId) => ({
    ...{ toolCallId, toolName: toolCallId, arguments: toolCallId === 'hidden' ? { password: 'x' } : { amount: 5 } },
    ...{ description: 'Pay the bill', reason: 'due', title: 'Pay', labels: { team: 'ops' }, metadata: { order: 7 } },
  }));
  await api.requestToolCalls(ports, agent, { runId: 'run', calls }, next());
  await answer(alice, keys.alice, 'approve', { decision: { type: 'approve' } });
  await answer(alice, keys.alice, 'deny', { decision: { type: 'deny' }, reason: 'no', instruction: 'ask again' });
  await answer(alice, keys.spare, 'edit', { decision: { type: 'edit', arguments: { amount: 4 } } });
  await answer(alice, keys.alice, 'answer', { decision: { type: 'answer', output: { paid: true } } });
  await answer(alice, keys.alice, 'hidden', { decision: { type: 'approve' } });
  await answer(alice, keys.alice, 'two', { decision: { type: 'approve' } });
  await api.withdraw(ports, alice, approvalId('two'), next());
  await answer(alice, keys.alice, 'two', { decision: { type: 'approve' }, instruction: 'then tell me' });
  await answer(bob, keys.bob, 'two', { decision: { type: 'approve' } });
  await api.claim(ports, actor('worker', 'resolver'), callId('two'), { resolverId: 'w' }, next());
}

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-signed-'));
  const clock = createVirtualClock();
  const store = await openEmbeddedEventStore({ folder, clock, log: createSilentLog() });
  const policy = loadPolicy('p.yaml', yaml);
  const policies = createPolicies([policy]);
  const tools = { find: () => undefined };
  ports = api.createWriteSide({ store, policies, tools, ids: createSystemIds(), log: createSilentLog() });
  read = async (stream) => (await store.readStream(stream)) as readonly RecordedEvent[];
  await api.recordPolicy(store, policy, new Date(clock.now()).toISOString());
  await writeHonestLog();
  const streams = [
    policyStream(tenant),
    passkeysStream(tenant),
    ...['approve', 'deny', 'edit', 'answer', 'hidden', 'two'].map(callId).map(toolCallStream),
  ];
  const all = (await Promise.all(streams.map(read))).flat();
  honest = all.toSorted((one, other) => one.position - other.position);
  closeStore = async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  };
});
afterAll(() => closeStore());

interface Verdict {
  readonly illegal: readonly Illegal[];
  readonly unproven: readonly Unproven[];
}

/** The judge's word about a log that is put into the order of its list. */
function judge(events: readonly RecordedEvent[]): Verdict {
  const legality = createLegality(new Map<string, KnownStream>());
  const revisions = new Map<string, number>();
  const verdicts = events.map((event) => {
    const revision = revisions.get(event.stream) ?? 0;
    revisions.set(event.stream, revision + 1);
    const stored = readStored({ ...event, revision });
    return 'unreadable' in stored
      ? { illegal: [{ rule: 'stream', detail: 'unreadable' } as const], unproven: [] }
      : legality.judge(stored);
  });
  return {
    illegal: verdicts.flatMap(({ illegal }) => illegal),
    unproven: verdicts.flatMap(({ unproven }) => unproven),
  };
}

type Vote = EventData<'ApprovalResponded'>;
type Change = (events: RecordedEvent[]) => RecordedEvent[];

const isVote = ({ type }: RecordedEvent): boolean => type === 'ApprovalResponded';
const voteOf = (event: RecordedEvent): Vote => event.data as Vote;

/** The log with one event of it changed. */
const withData =
  (which: (event: RecordedEvent) => boolean, nth: number, change: (data: JsonObject) => JsonObject): Change =>
  (events) => {
    const found = events.filter(which);
    const target = found[nth % found.length];
    return events.map((event) =>
      event === target ? ({ ...event, data: change(event.data) } as RecordedEvent) : event,
    );
  };

const inSignature = (nth: number, change: (signature: NonNullable<Vote['signature']>, vote: Vote) => object): Change =>
  withData(isVote, nth, (data) => {
    const vote = data as unknown as Vote;
    return {
      ...data,
      signature: { ...vote.signature, ...(vote.signature && change(vote.signature, vote)) },
    };
  });

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const otherLetter = (text: string, at: number, by: number): string => {
  const place = at % text.length;
  const letter = letters.indexOf(text.charAt(place));
  return text.slice(0, place) + letters.charAt((letter + 1 + (by % 63)) % 64) + text.slice(place + 1);
};

/** A signature of the vote as it is recorded, made with another key or on another page. */
function signedAnew(vote: Vote, key: Authenticator, more: object = {}): object {
  const nonce = next();
  const { displayDigest: shown = '' } = vote.signature ?? {};
  const view = shownProposals.get(vote.approvalId) ?? '';
  const decision =
    vote.decision.type === 'edit' ? ({ type: 'edit', arguments: vote.decision.arguments } as const) : vote.decision;
  const challenge = answerChallenge({
    ...{ proposalDigest: view, displayDigest: shown, decision, instruction: vote.instruction, nonce },
  });
  return { ...key.sign(challenge, nonce, { ...site, ...more }), displayDigest: shown };
}

/** The digest of the proposal that each approval began with. */
const shownProposals = new Map<string, string>();
beforeAll(async () => {
  for (const name of ['approve', 'deny', 'hidden', 'two'])
    shownProposals.set(approvalId(name), (await viewOf(name)).proposal.digest);
});

const registrationOf = (key: Authenticator, principal: string, waitsFor: string): RecordedEvent => {
  const [first] = honest;
  if (first === undefined) throw new Error('the log is empty');
  const { credentialId, publicKey } = key;
  const data = { ...first.data, credentialId, publicKey, principal, waitsFor };
  return { ...first, eventId: crypto.randomUUID(), data } as unknown as RecordedEvent;
};

const confirmationOf = (key: Authenticator, confirmedBy: string, assertion?: object): RecordedEvent => {
  const confirmed = honest.find(({ type }) => type === 'PasskeyConfirmed');
  if (confirmed === undefined) throw new Error('no passkey was confirmed');
  const { assertion: _assertion, ...data } = confirmed.data as unknown as { readonly assertion: object };
  const forged = {
    ...data,
    credentialId: key.credentialId,
    confirmedBy,
    ...(assertion !== undefined && { assertion }),
  };
  return { ...confirmed, eventId: crypto.randomUUID(), data: forged } as unknown as RecordedEvent;
};

const removalOf = ({ credentialId }: Authenticator, removedAt: string): RecordedEvent => {
  const data = { credentialId, removedBy: 'alice', removedAt };
  const more = { eventId: crypto.randomUUID(), recordedAt: removedAt, type: 'PasskeyRemoved', data };
  return { ...honest[0], ...more } as unknown as RecordedEvent;
};

/** Puts events behind the passkeys of the honest log, and signs a vote of alice with the stolen key. */
const withKeys =
  (...more: readonly RecordedEvent[]): Change =>
  (events) => {
    const at = events.findLastIndex(({ stream }) => stream === passkeysStream(tenant)) + 1;
    const signed = withData(
      ({ data }) => (data as { approvalId?: string }).approvalId === approvalId('approve') && 'decision' in data,
      0,
      (data) => {
        return { ...data, signature: signedAnew(data as unknown as Vote, stolen) as JsonObject };
      },
    );
    return signed(events.toSpliced(at, 0, ...more));
  };

const nth = fc.nat(40);
const attacks: Readonly<Record<string, fc.Arbitrary<Change>>> = {
  'a bit of a signature': fc
    .tuple(
      nth,
      fc.constantFrom('authenticatorData', 'clientDataJSON', 'signature', 'credentialId', 'nonce'),
      fc.nat(),
      fc.nat(),
    )
    .map(([at, member, place, by]) =>
      inSignature(at, (signature) => ({ [member]: otherLetter(signature[member as 'nonce'], place, by) })),
    ),
  'another card': fc.tuple(nth, fc.nat()).map(([at, place]) =>
    inSignature(at, ({ displayDigest: shown }) => {
      const hex = shown.slice(7);
      const spot = place % 64;
      const other = hex.charAt(spot) === '0' ? '1' : '0';
      return { displayDigest: `sha256:${hex.slice(0, spot)}${other}${hex.slice(spot + 1)}` };
    }),
  ),
  'no signature': nth.map((at) =>
    withData(isVote, at, ({ signature: _signature, ...data }) => ({ ...data, assurance: 'medium' })),
  ),
  'another decision': nth.map((at) =>
    withData(isVote, at, (data) =>
      (data['decision'] as JsonObject)['type'] === 'deny'
        ? { ...data, decision: { type: 'approve' }, resolution: 'approved' }
        : { ...data, decision: { type: 'deny' }, resolution: 'denied', executeBy: null },
    ),
  ),
  'other edited arguments': fc.integer({ min: 5 }).map((amount) =>
    withData(
      (event) => isVote(event) && voteOf(event).decision.type === 'edit',
      0,
      (data) => {
        const decision = { ...(data['decision'] as JsonObject), arguments: { amount } };
        const request = honest.find(
          ({ type, stream }) => type === 'ToolCallRequested' && stream === toolCallStream(callId('edit')),
        );
        const input = request?.data as unknown as Parameters<typeof actionDigest>[0];
        const { salt } = voteOf({ data } as never).decision as { readonly salt: string };
        return { ...data, decision, actionDigest: actionDigest({ ...input, salt }, { amount }) };
      },
    ),
  ),
  'another output': fc.string().map((output) =>
    withData(
      (event) => isVote(event) && voteOf(event).decision.type === 'answer',
      0,
      (data) => ({ ...data, decision: { type: 'answer', output } }),
    ),
  ),
  'another instruction': fc
    .tuple(nth, fc.string())
    .map(([at, instruction]) => withData(isVote, at, (data) => ({ ...data, instruction: `${instruction}!` }))),
  'another person': fc
    .tuple(nth, fc.constantFrom('mallory', 'carol'))
    .map(([at, respondedBy]) => withData(isVote, at, (data) => ({ ...data, respondedBy }))),
  'the signature of another response': fc.tuple(nth, nth).map(([at, of]) => (events: RecordedEvent[]) => {
    const votes = events.filter(isVote);
    const [target, source] = [votes[at % votes.length], votes[(at + 1 + (of % (votes.length - 1))) % votes.length]];
    const signature = source === undefined ? undefined : voteOf(source).signature;
    return events.map((event) =>
      event === target ? ({ ...event, data: { ...event.data, signature } } as RecordedEvent) : event,
    );
  }),
  'the same response once more': nth.map((at) => (events: RecordedEvent[]) => {
    const votes = events.filter((event) => isVote(event) && voteOf(event).approvalId === approvalId('two'));
    const vote = votes[at % votes.length];
    return vote === undefined ? [] : [...events, { ...vote, eventId: crypto.randomUUID() }];
  }),
  'a withdrawn response that comes back': fc.constant((events: RecordedEvent[]) => {
    const votes = events.filter((event) => isVote(event) && voteOf(event).approvalId === approvalId('two'));
    const [withdrawn, given] = votes;
    if (given === undefined || withdrawn === undefined) return [];
    return [...events.slice(0, events.indexOf(given)), { ...withdrawn, eventId: given.eventId }];
  }),
  'a key of the attacker for alice': fc
    .constantFrom('none', 'any-passkey', 'another-person')
    .map((waitsFor) => withKeys(registrationOf(stolen, 'alice', waitsFor))),
  'a key of the attacker under another name': fc
    .constantFrom('mallory', 'alice2')
    .map((name) => withKeys(registrationOf(stolen, name, 'none'))),
  'a confirmation without a signature': fc
    .constantFrom('alice', 'bob', 'mallory')
    .map((by) => withKeys(registrationOf(stolen, 'alice', 'any-passkey'), confirmationOf(stolen, by))),
  'a confirmation that the attacker signed': fc.constantFrom('alice', 'bob', 'mallory').map((by) => {
    const { credentialId, publicKey } = stolen;
    const nonce = next();
    const challenge = confirmationChallenge({ tenant, principal: 'alice', credentialId, publicKey, nonce });
    const assertion = stolen.sign(challenge, nonce, site);
    return withKeys(registrationOf(stolen, 'alice', 'any-passkey'), confirmationOf(stolen, by, assertion));
  }),
  'the confirmation of another key': fc.constantFrom('alice', 'bob').map((by) => {
    const { assertion } = (honest.find(({ type }) => type === 'PasskeyConfirmed')?.data ?? {}) as {
      readonly assertion?: object;
    };
    return withKeys(registrationOf(stolen, 'alice', 'any-passkey'), confirmationOf(stolen, by, assertion ?? {}));
  }),
  'the public key of the attacker in a registration': fc.nat(1).map((at) =>
    withData(
      ({ type }) => type === 'PasskeyRegistered',
      at,
      (data) => ({ ...data, publicKey: stolen.publicKey }),
    ),
  ),
  'a removed key': fc.constant((events: RecordedEvent[]) => {
    const at = events.findLastIndex(({ stream }) => stream === passkeysStream(tenant)) + 1;
    return events.toSpliced(at, 0, removalOf(keys.alice, '2026-11-28T10:00:00.000Z'));
  }),
  'a key that was removed long before the last vote': fc.constant((events: RecordedEvent[]) => {
    const at = events.findLastIndex((event) => isVote(event) && voteOf(event).approvalId === approvalId('two'));
    const decidedAt = Date.parse(events[at]?.recordedAt ?? '');
    return events.toSpliced(at, 0, removalOf(keys.alice, new Date(decidedAt - 20 * 60_000).toISOString()));
  }),
  'a page of another site': fc
    .constantFrom(
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { isVerified: false },
      { crossOrigin: true },
    )
    .map((more) =>
      withData(
        (event) => isVote(event) && voteOf(event).approvalId === approvalId('approve'),
        0,
        (data) => ({ ...data, signature: signedAnew(data as unknown as Vote, keys.alice, more) as JsonObject }),
      ),
    ),
  'a card that was swapped': fc.integer({ min: 6 }).map((amount) =>
    withData(
      (event) => isVote(event) && voteOf(event).approvalId === approvalId('approve'),
      0,
      (data) => {
        const vote = data as unknown as Vote;
        const signature = { ...vote.signature, displayDigest: `sha256:${amount.toString(16).padStart(64, '0')}` };
        return { ...data, signature: signedAnew({ ...vote, signature } as Vote, keys.alice) as JsonObject };
      },
    ),
  ),
  'other arguments of the request': fc.integer({ min: 6 }).map((amount) => (events: RecordedEvent[]) => {
    const stream = toolCallStream(callId('approve'));
    const request = events.find((event) => event.type === 'ToolCallRequested' && event.stream === stream);
    const data = request?.data as unknown as EventData<'ToolCallRequested'>;
    const digest = actionDigest({ ...data, salt: data.salt ?? '' }, { amount });
    return events.map((event) => {
      if (event.stream !== stream || !('actionDigest' in event.data)) return event;
      const args = event === request ? { arguments: { amount } } : {};
      return { ...event, data: { ...event.data, ...args, actionDigest: digest } };
    });
  }),
  silence: fc.constant(
    withData(
      (event) => isVote(event) && voteOf(event).approvalId === approvalId('approve'),
      0,
      ({ signature: _signature, ...data }) => ({ ...data, automatic: true, respondedBy: 'policy', assurance: 'low' }),
    ),
  ),
};

describe('a log with signed responses', () => {
  it('is legal as the server wrote it, and says which passkeys rest on a sign-in and which card was hidden', () => {
    const { illegal, unproven } = judge(honest);
    expect(illegal).toEqual([]);
    // This log has no log of record.
    expect(new Set(unproven)).toEqual(new Set(['passkey-by-sign-in', 'unrecorded-rights']));
    expect(unproven.filter((one) => one === 'passkey-by-sign-in')).toHaveLength(2);
  });

  it.each(Object.keys(attacks))('is not legal after an attack: %s', (name) => {
    const [change] = fc.sample(attacks[name] ?? fc.constant<Change>((events) => events), { numRuns: 1, seed: 7 });
    const forged = change?.([...honest]) ?? [];
    expect(forged).not.toEqual(honest);
    expect(judge(forged).illegal.length).toBeGreaterThan(0);
  });

  it('has no accepted response among 1,000 mutations and forgeries', () => {
    const any = fc.oneof(...Object.values(attacks));
    fc.assert(
      fc.property(any, (attack) => {
        expect(judge(attack([...honest])).illegal.length).toBeGreaterThan(0);
      }),
      { numRuns: 1000 },
    );
  });
});

it('signs a card without the instruction of a vote that no longer counts, and the judge agrees', async () => {
  const calls = [{ toolCallId: 'lost', toolName: 'lost', arguments: {} }];
  await api.requestToolCalls(ports, agent, { runId: 'run', calls }, next());
  await answer(alice, keys.alice, 'lost', { decision: { type: 'approve' }, instruction: 'stolen words' });
  const people: CommandPorts['people'] = {
    approver: (_, principal) => (principal === 'bob' ? { groups: [], isAway: false } : undefined),
    approvers: () => ['bob'],
    names: () => [],
  };
  const body = await signedBody(keys.bob, 'lost', { decision: { type: 'approve' } }, { instructions: [] });
  expect(await api.respond({ ...ports, people }, bob, approvalId('lost'), body, next())).toMatchObject({
    status: 'done',
  });
  const streams = [policyStream(tenant), passkeysStream(tenant), toolCallStream(callId('lost'))];
  const events = (await Promise.all(streams.map(read))).flat();
  expect(judge(events.toSorted((one, other) => one.position - other.position)).illegal).toEqual([]);
});
