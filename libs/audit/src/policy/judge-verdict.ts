import { deniedInCode } from '@countersign/contracts';
import type { Requirement } from '@countersign/contracts';
import type { CallState, RequestFacts } from '../legality/call-state.js';
import { illegal } from '../legality/judged-event.js';
import type { Illegal, JudgedEvent, Judgement, PolicyUnproven, Unproven } from '../legality/judged-event.js';
import type { GrantState, KnownStreams } from '../legality/streams.js';
import { citationOf } from './citations.js';
import type { Citation } from './citations.js';
import { compareRequirement, lessThan, rankOf } from './compare-requirement.js';
import type { Compared } from './compare-requirement.js';
import type { PolicyRecord } from './policy-record.js';
import { judgeGivers } from './judge-givers.js';
import type { RightsRecord } from '../rights/record.js';
import { rulingsOf } from './rulings.js';
import type { Ruling } from './rulings.js';
import type { WrittenPolicy } from './written-policy.js';

/** What is wrong with a verdict, or could not be shown. */
type Word = Illegal | Unproven;

/** What a verdict is compared with. */
export interface Records {
  readonly policies: PolicyRecord;
  readonly streams: KnownStreams;
  readonly rights: RightsRecord;
}

/**
 * Compares a verdict with the policy that it cites, without its expressions. Attack: the owner of the log allows a call that the
 * policy blocks, or asks fewer people than its rule names. `call` is the call before the event.
 */
export function judgeVerdict(event: JudgedEvent, call: CallState, records: Records): Judgement {
  const words = wordsAbout(event, call, records);
  return {
    illegal: words.filter((word) => typeof word === 'object'),
    unproven: words.filter((word) => typeof word === 'string'),
  };
}

function wordsAbout(event: JudgedEvent, call: CallState, records: Records): readonly Word[] {
  const { policies } = records;
  const cited = citationOf(event, call);
  if (cited === undefined) return [];
  const { verdict } = cited;
  const policy = policies.find(verdict.policyVersion, call.request.tenant);
  const place = placeOf(event, cited, policies);
  if (typeof place[0] === 'object') return place;
  const compared = policy === undefined ? (['unread-policy'] as const) : compare(policy, cited, call, records);
  return [...place, ...automatic(cited), ...compared];
}

/** Whether the cited policy was in force at this place of the log. */
function placeOf(event: JudgedEvent, { verdict, by }: Citation, policies: PolicyRecord): readonly Word[] {
  switch (policies.standingOf(verdict.policyVersion, event)) {
    case 'last':
      return [];
    case 'around':
      return ['earlier-policy'];
    case 'unknown':
      return ['unplaced-policy'];
    case 'never':
      if (policies.hasSilentJudge(by)) return ['unplaced-policy'];
      return [illegal('policy', `the policy ${short(verdict.policyVersion)} that it cites was not in force`)];
  }
}

function automatic({ verdict: { automatic: says, outcome } }: Citation): readonly Word[] {
  return says === (outcome !== 'require') ? [] : [illegal('verdict', 'it is automatic only where no person is asked')];
}

function compare(policy: WrittenPolicy, cited: Citation, call: CallState, records: Records): readonly Word[] {
  const { request } = call;
  const { ruleId, outcome, grantId } = cited.verdict;
  if (ruleId === deniedInCode && outcome === 'block') return [];
  const paths = policy.pathsOf(request);
  const mayJoin = cited.isFirst && request.batchStream !== null;
  const rulings = rulingsOf(policy, paths, ruleId, { mayJoin });
  const depends = paths.conditional.length > 0 ? (['policy-condition'] as const) : [];
  if (rulings.length === 0) {
    return [illegal('verdict', `the rule "${ruleId}" cannot decide about this call: "${paths.end.ruleId}" does`)];
  }
  if (grantId !== undefined) return [...byGrant(rulings, cited, call, records), ...depends];
  return [...(notSaid(rulings, cited, request) ?? asked(rulings, cited)), ...depends];
}

/** Why no ruling has this outcome. */
function notSaid(
  rulings: readonly Ruling[],
  { verdict: { ruleId, outcome } }: Citation,
  { needsApproval }: RequestFacts,
): readonly Word[] | undefined {
  if (!rulings.some((ruling) => ruling.outcome === outcome)) {
    return [illegal('verdict', `the rule "${ruleId}" does not ${verbs[outcome]} this call`)];
  }
  return outcome === 'allow' && needsApproval
    ? [illegal('verdict', 'it is allowed, and its worker asked for an approval')]
    : undefined;
}

const verbs = { allow: 'allow', block: 'block', require: 'ask people about' } as const;

function short(version: string): string {
  return version.slice(0, 'sha256:'.length + 12);
}

type Requires = Extract<Ruling, { readonly outcome: 'require' }>;

/** A standing grant answers for one person: where the rule asks for no more, and for no higher risk than the grant is for. */
function byGrant(
  rulings: readonly Ruling[],
  { verdict }: Citation,
  call: CallState,
  { streams, rights }: Records,
): readonly Word[] {
  if (verdict.outcome !== 'allow') return [illegal('verdict', 'it names a grant, and does not allow')];
  const state = streams.get(`grant-${String(verdict.grantId)}`)?.state;
  const grant = state?.kind === 'grant' ? state : undefined;
  const required = rulings.filter(isRequired);
  const able = required.filter((ruling) => whyNoGrant(ruling, grant?.risk ?? 'high') === undefined);
  const ofGivers = able.map(({ asked: { requirement } }) =>
    grant === undefined ? [] : judgeGivers(grant, requirement, call, rights),
  );
  const words = ofGivers.find((some) => some.every((word) => typeof word === 'string')) ?? ofGivers[0];
  if (words !== undefined) return words;
  const why = required[0] === undefined ? 'the rule asks nobody' : whyNoGrant(required[0], grant?.risk ?? 'high');
  return [illegal('grant', `no grant covers a call of the rule "${verdict.ruleId}": ${String(why)}`)];
}

function isRequired(ruling: Ruling): ruling is Requires {
  return ruling.outcome === 'require';
}

function whyNoGrant({ asked: { requirement }, noGrant }: Requires, risk: GrantState['risk']): string | undefined {
  const { stages, requireSignature, minAssurance } = requirement;
  if (noGrant !== undefined) return noGrant;
  if (stages.length > 1 || stages.some(({ approve }) => approve > 1)) return 'it asks several people';
  if (requireSignature === true || minAssurance === 'high') return 'it asks for signatures';
  return rankOf(requirement.risk) > rankOf(risk) ? 'its risk is higher' : undefined;
}

/** What is asked is what the rule asks, or more where other rules may count as well. */
function asked(rulings: readonly Ruling[], cited: Citation): readonly Word[] {
  const { requirement, verdict } = cited;
  if (requirement === null) return [];
  const required = rulings.filter(isRequired).map((ruling) => ruledFor(cited, ruling));
  const results = required.map((ruling) => comparedWith(ruling, cited, requirement));
  const fitting = results.find((result) => typeof result === 'object');
  if (fitting !== undefined) return fitting;
  return [illegal('verdict', `it does not ask as its rule "${verdict.ruleId}" does: ${String(results[0])}`)];
}

/**
 * A ruling for the place of a verdict. At its turn a call is asked about as its place says as well; and a request under the rule of its
 * edit asks what all rules asked that counted for it, as its own verdict was compared with them.
 */
function ruledFor({ by }: Citation, ruling: Requires): Requires {
  const isAlone = ruling.isAlone && by !== 'turn' && by !== 'same-rule';
  // The time that a request has set where its rule sets none holds under that rule alone.
  return by === 'as-request' ? { ...ruling, asked: { ...ruling.asked, isExpirySet: true } } : { ...ruling, isAlone };
}

/** What could not be shown about a requirement that a rule can give, or the name of the part that it cannot give. */
function comparedWith(ruling: Requires, { by }: Citation, recorded: Requirement): readonly PolicyUnproven[] | string {
  const less = lessThan(recorded, ruling.asked);
  if (ruling.isOfStep === true) return recorded.batch === 'any-asks-all' ? (less ?? ['asked-with-step']) : 'batch';
  if (by === 'older-edit') return less === 'stages' ? less : ['older-edit'];
  const found = wordOf(closest(ruling, recorded), by);
  return typeof found === 'object' || ruling.isAlone ? found : (less ?? []);
}

/** A request may wish for less, and an edit may not. It keeps what the request has wished. */
function wordOf(compared: Compared, by: Citation['by']): readonly PolicyUnproven[] | string {
  if (typeof compared === 'object') return compared.differs;
  if (compared === 'equal' || by === 'as-request' || by === 'same-rule') return [];
  return by === 'request' ? ['wished'] : 'the time or the decisions';
}

/** Silence does not approve where a rule before might block the call. */
function closest({ asked: ruled, mayDeny }: Requires, recorded: Requirement): Compared {
  const compared = compareRequirement(recorded, ruled);
  const { requirement } = ruled;
  if (typeof compared === 'string' || !mayDeny || requirement.onTimeout !== 'allow') return compared;
  return compareRequirement(recorded, { ...ruled, requirement: { ...requirement, onTimeout: 'deny' } });
}
