import type { Verdict } from '@countersign/contracts';
import { judgeBatchBegin } from './batch-begin.js';
import { judgeCall } from './calls.js';
import { builtInPolicyVersion } from './digests.js';
import { illegal, isIllegal } from './judged-event.js';
import type { Illegal, JudgedEvent, Judgement, Unproven } from './judged-event.js';
import { judgeBatch, judgeGrant, judgePlain, judgePolicy, unprovenOfConfirmation } from './other-streams.js';
import { judgePasskeys } from './passkeys.js';
import { judgeVerdict } from '../policy/judge-verdict.js';
import { createPolicyRecord } from '../policy/policy-record.js';
import type { LogScope } from '../policy/policy-record.js';
import { createPlaces } from './places.js';
import { createQueues } from './queues.js';
import { createRestores } from './restores.js';
import { createRuns } from './runs.js';
import { createSilences } from './silence.js';
import { createSteps } from './steps.js';
import { createStops } from './stops.js';
import { createToolSchemas } from './tool-schemas.js';
import { judgeStatedTime } from './stated-times.js';
import { judgeRemembered } from './remembered.js';
import { judgeListed } from '../rights/judge-listed.js';
import { judgeReveal } from '../rights/judge-reveal.js';
import { judgeRights } from '../rights/judge-rights.js';
import { judgeSilentPeople } from '../rights/silent-people.js';
import { judgeEarlierVotes, withGiven } from '../rights/earlier-votes.js';
import { judgeNames } from '../rights/one-person.js';
import { judgeOwner } from '../rights/owners.js';
import { createRightsRecord } from '../rights/record.js';
import type { RightsRecord } from '../rights/record.js';
import { graceMs } from '../rights/timeline.js';
import type { KnownStream, KnownStreams, StreamState } from './streams.js';
import { isBeforeBy } from './times.js';

/** Judges a log, event by event, in the order of the log. */
export interface Legality {
  /** Returns the rules that the event breaks. An illegal event changes nothing. */
  readonly judge: (event: JudgedEvent) => Judgement;
  /** Notes an event that cannot be read: its stream is set aside, and its later events are not judged. */
  readonly setAside: (event: Pick<JudgedEvent, 'stream' | 'revision'> & { readonly type: string }) => Judgement;
  /** The versions of policies that verdicts cite and that no event has recorded so far. */
  readonly unrecordedPolicies: () => readonly string[];
  /** Those of them whose content is not known either: all but the built-in one. */
  readonly unknownPolicies: () => readonly string[];
}

/**
 * A judge of the log of one tenant. It shares no code with the program that writes the log: its rules are written from
 * the design. It asserts that nothing ran without the people, the rule or the grant that let exactly that run; that an
 * approval ends once, by enough people who were asked and are not its requester; that claims have rising numbers, and
 * one runs at a time; and that digests and versions are those of their content. It asserts too that each act of a person is
 * one of the credential that it names, with the roles and the groups that the log of record gives the person; and that requests
 * and claims are of programs that may make them.
 */
export function createLegality(streams: KnownStreams, scope: LogScope = wholeLog): Legality {
  const cited = new Set<string>();
  const recorded = new Set<string>();
  const rights = createRightsRecord();
  const policies = createPolicyRecord(scope);
  const silences = createSilences();
  const places = createPlaces(streams, scope.isWhole);
  let [newest, tenant] = [1, ''];
  const restores = createRestores(streams);
  const isSetBack = createSetBack();
  const queues = createQueues(streams, scope.isWhole);
  const steps = createSteps(streams, policies, scope.isWhole);
  const runs = createRuns(streams);
  const stops = createStops(streams);
  const schemas = createToolSchemas(streams);
  /** The records take a legal event, whose verdict, turn and silence were compared with what they had before. */
  const takeLegal = (event: JudgedEvent, before: StreamState | undefined, after: StreamState): Judgement => {
    const isOfCall = before?.kind === 'call';
    const ofCall = isOfCall
      ? [judgeVerdict(event, before, { policies, streams, rights }), queues.judge(event, before)]
      : [];
    const others = [silences.judge(event, before), places.judge(event, before), judgeStatedTime(event, before)];
    const words = [
      ...ofCall,
      ...(after.kind === 'call' ? [queues.judgePlace(event, after)] : []),
      ...others,
      ...judgePeople(event, [before, after], rights),
      judgeRemembered(event, streams, scope.isWhole),
      steps.judge(event, before, after),
      judgeBatchBegin(event, streams),
      schemas.judge(event, before, after),
      runs.judge(event, before),
      stops.judge(event, before, after),
      restores.judge(event, before),
    ];
    for (const record of [rights, policies, silences]) record.take(event);
    if (after.kind === 'call') queues.take(after);
    runs.take(event, before);
    return {
      illegal: words.flatMap(({ illegal: found }) => found),
      unproven: words.flatMap(({ unproven }) => unproven),
    };
  };
  const unrecordedPolicies = (): readonly string[] => [...cited].filter((version) => !recorded.has(version));
  return {
    judge: (given) => {
      const event = restores.seen(given);
      const known = streams.get(event.stream);
      const misplaced = misplacedIn(known, event);
      const before = known?.state;
      const { next, unproven } = judged(event, known, streams);
      const broken = isIllegal(next) ? [next] : [];
      const after = isIllegal(next)
        ? undefined
        : [silences, restores].reduce(
            (state, record) => record.placed(event, state),
            steps.placed(event, before, withGiven(event, places.placed(event, next), rights)),
          );
      const state = after ?? before;
      streams.set(event.stream, {
        next: event.revision + 1,
        state,
        version: Math.max(versionOf(known), event.writtenAs),
      });
      const isOlder = event.writtenAs < newest && state?.kind === 'call';
      newest = Math.max(newest, event.writtenAs);
      ({ tenant } = event.metadata);
      notePolicies(event, cited, recorded);
      const ofPerson = judgeRights(event, rights, before);
      const taken = after === undefined ? nothing : takeLegal(event, before, after);
      // One lie is one finding.
      const isNotCounted = after === undefined || ofPerson.illegal.length > 0;
      const counted = isNotCounted ? nothing : judgeEarlierVotes(event, after, { rights, streams });
      const isLeaning = streamsBehind(event).some((stream) => streams.get(stream)?.state?.kind === 'set-aside');
      return {
        illegal: [...misplaced, ...broken, ...ofPerson.illegal, ...counted.illegal, ...taken.illegal],
        unproven: once([
          ...unproven,
          ...counted.unproven,
          ...taken.unproven,
          ...optionally('leans-on-set-aside', isLeaning),
          ...optionally('older-rules', isOlder),
          ...ofPerson.unproven,
          ...optionally('set-back', isSetBack(event)),
        ]),
      };
    },
    setAside: (event) => {
      const misplaced = misplacedIn(streams.get(event.stream), event);
      streams.set(event.stream, { next: event.revision + 1, state: { kind: 'set-aside' } });
      for (const record of [rights, policies, places, stops]) record.lose(event);
      queues.lose(event.stream);
      return { illegal: misplaced, unproven: [] };
    },
    unrecordedPolicies,
    unknownPolicies: () => unrecordedPolicies().filter((version) => version !== builtInPolicyVersion(tenant)),
  };
}

type Around = readonly [before: StreamState | undefined, after: StreamState];

/** What the log of record says about the people of a legal event. */
function judgePeople(event: JudgedEvent, [before, after]: Around, rights: RightsRecord): readonly Judgement[] {
  return [
    judgeNames(event, before, after, rights),
    judgeReveal(event, before, rights),
    judgeListed(event, rights),
    judgeSilentPeople(event, before, rights),
    judgeOwner(event, before),
  ];
}

/** Every event from the first one on, and no policy besides them. */
const wholeLog: LogScope = { policies: [], isWhole: true };
const nothing: Judgement = { illegal: [], unproven: [] };

/** Attack: a change of rights is recorded with a time far ahead, so that what it ended counts until then. */
function createSetBack(): (event: Pick<JudgedEvent, 'recordedAt'>) => boolean {
  let latest = '';
  return ({ recordedAt }) => {
    if (recordedAt > latest) latest = recordedAt;
    return isBeforeBy(graceMs, recordedAt, latest);
  };
}

/** Revisions have no gap and no repeat. */
function misplacedIn(known: KnownStream | undefined, { revision }: Pick<JudgedEvent, 'revision'>): readonly Illegal[] {
  const next = known?.next ?? 0;
  if (revision === next) return [];
  return [illegal('revision', `its revision is ${String(revision)} where ${String(next)} comes next`)];
}

/**
 * Attack: an event of an older version, whose rules were weaker, goes on with a stream of a newer one. A process of the older
 * version cannot read that stream, and so writes nothing to it.
 */
function older(version: number): Judged {
  const detail = `its schema version is older than the ${String(version)} of an event before it`;
  return { next: illegal('stream', detail), unproven: [] };
}

function once(all: readonly Unproven[]): readonly Unproven[] {
  return [...new Set(all)];
}

function optionally(what: Unproven, applies: boolean): readonly Unproven[] {
  return applies ? [what] : [];
}

interface Judged {
  readonly next: Illegal | StreamState;
  readonly unproven: readonly Unproven[];
}

function versionOf(known: KnownStream | undefined): number {
  return known?.version ?? 1;
}

function judged(event: JudgedEvent, known: KnownStream | undefined, streams: KnownStreams): Judged {
  if (event.writtenAs < versionOf(known)) return older(versionOf(known));
  const state = known?.state;
  if (state?.kind === 'set-aside') return { next: state, unproven: ['set-aside'] };
  const { stream } = event;
  if (stream.startsWith('toolCall-')) return judgeCall(event, ofKind('call', state), streams);
  if (stream.startsWith('grant-')) {
    const grant = ofKind('grant', state);
    return { next: judgeGrant(event, grant), unproven: unprovenOfConfirmation(event, grant) };
  }
  if (stream.startsWith('batch-')) return { next: judgeBatch(event, ofKind('batch', state), streams), unproven: [] };
  if (/^(?:shadow-)?policy-/.test(stream)) return { next: judgePolicy(event, ofKind('policy', state)), unproven: [] };
  if (stream.startsWith('passkeys-')) return judgePasskeys(event, ofKind('passkeys', state));
  return { next: judgePlain(event), unproven: [] };
}

/** The other streams that permit an event. What is set aside cannot show that it does. */
function streamsBehind({ type, data }: JudgedEvent): readonly string[] {
  const { verdict, callIds } = data as { readonly verdict?: Verdict; readonly callIds?: readonly string[] };
  if (type === 'BatchBegun') return (callIds ?? []).map((callId) => `toolCall-${callId}`);
  return type === 'ToolCallAllowed' && verdict?.grantId !== undefined ? [`grant-${verdict.grantId}`] : [];
}

function ofKind<Kind extends StreamState['kind']>(
  kind: Kind,
  state: StreamState | undefined,
): Extract<StreamState, { kind: Kind }> | undefined {
  return state?.kind === kind ? (state as Extract<StreamState, { kind: Kind }>) : undefined;
}

function notePolicies({ data }: JudgedEvent, cited: Set<string>, recorded: Set<string>): void {
  const { verdict, decision, policyVersion, content } = data as {
    readonly verdict?: Verdict;
    readonly decision?: { readonly verdict?: Verdict };
    readonly policyVersion?: string;
    readonly content?: unknown;
  };
  for (const one of [verdict, decision?.verdict]) if (one !== undefined) cited.add(one.policyVersion);
  if (content !== undefined && policyVersion !== undefined) recorded.add(policyVersion);
}
