import type { BusinessHours, DecisionType, DurationMs, Requirement, Stage } from '@countersign/contracts';
import type { CelExpression } from '@countersign/cel';
import type { WrittenRequire, WrittenRule } from './rule-schema.js';

/** The values of a requirement where neither rule nor request sets them. */
export interface Defaults {
  readonly expiresInMs: DurationMs;
  /** True when the file sets the expiry. A request can then only shorten it. */
  readonly isExpirySet: boolean;
  readonly executeByMs: DurationMs;
  readonly onTimeout: 'deny' | 'hold';
  readonly fourEyes: boolean;
  readonly allowedDecisions: readonly DecisionType[];
  /** Null: deadlines count at any time. */
  readonly businessHours: BusinessHours | null;
  /** Of a requirement that says nothing itself. */
  readonly batch: 'independent' | 'sequential';
}

/** A requirement before the request's wishes. */
export interface Asked {
  readonly requirement: Requirement;
  readonly isExpirySet: boolean;
}

/** The effect of a rule on the calls that it matches. */
export type Then =
  | { readonly outcome: 'allow' }
  | { readonly outcome: 'block'; readonly reason: string }
  | ({ readonly outcome: 'require' } & Asked);

/** One rule of a policy. Without globs, labels and expression it matches every call. */
export interface Rule {
  readonly id: string;
  /** Null: every tool. */
  readonly tools: readonly string[] | null;
  /** Null: every agent. */
  readonly agents: readonly string[] | null;
  readonly labels: ReadonlyMap<string, string>;
  readonly when: CelExpression | null;
  readonly then: Then;
}

const defaultRequirements = new WeakMap<Defaults, Asked>();

/** One approver with the approver role, and the file's defaults. Each verdict asks for it, so it is made once. */
export function defaultRequirement(defaults: Defaults): Asked {
  const known = defaultRequirements.get(defaults);
  if (known !== undefined) return known;
  const asked = toAsked({}, defaults);
  defaultRequirements.set(defaults, asked);
  return asked;
}

/** A rule out of its written form, with the file's defaults filled in. */
export function toRule({ id, match, then }: WrittenRule, when: CelExpression | null, defaults: Defaults): Rule {
  const { tools = null, agents = null, labels = {} } = match;
  return { id, tools, agents, labels: new Map(Object.entries(labels)), when, then: toThen(then, defaults) };
}

function toThen(then: WrittenRule['then'], defaults: Defaults): Then {
  if (then === 'allow') return { outcome: 'allow' };
  const { block: reason } = then;
  if (reason !== undefined) return { outcome: 'block', reason };
  return { outcome: 'require', ...toAsked(then.require ?? {}, defaults) };
}

function toAsked(written: WrittenRequire, defaults: Defaults): Asked {
  const { batch = defaults.batch } = written;
  const requirement: Requirement = {
    stages: (written.stages ?? [written]).map(toStage),
    ...toChecks(written, defaults),
    ...toTimes(written, defaults),
    ...(batch === 'independent' ? {} : { batch }),
    ...(written.denyEndsRun === true ? { denyEndsRun: true } : {}),
    ...(written.requireCheckedSchema === true ? { requireCheckedSchema: true } : {}),
    ...(written.requireSignature === true ? { requireSignature: true } : {}),
  };
  // Attack: a request for ten years, to have its hours counted one by one. Hours set the expiry too.
  const isSet = written.expiresIn !== undefined || requirement.businessHours !== undefined;
  return { requirement, isExpirySet: isSet || defaults.isExpirySet };
}

function toChecks(written: WrittenRequire, defaults: Defaults) {
  const { fourEyes = defaults.fourEyes, allowedDecisions = defaults.allowedDecisions } = written;
  const { requireReason = [], minAssurance = null, risk = null } = written;
  return { fourEyes, allowedDecisions: [...allowedDecisions], requireReason, minAssurance, risk };
}

function toTimes(written: WrittenRequire, defaults: Defaults) {
  const { expiresIn = defaults.expiresInMs, executeBy = defaults.executeByMs } = written;
  const { onTimeout = defaults.onTimeout, escalation = [], reminders: remindersMs = [] } = written;
  const levels = escalation.map(({ to, expiresIn: ofLevel }) => ({ to, expiresInMs: ofLevel }));
  const hours = written.businessHours ?? defaults.businessHours;
  const businessHours = hours === null ? {} : { businessHours: hours };
  return {
    expiresInMs: expiresIn,
    executeByMs: executeBy,
    onTimeout,
    escalation: levels,
    remindersMs,
    ...businessHours,
  };
}

function toStage({ quorum, anyOf, allOf }: Pick<WrittenRequire, 'quorum' | 'anyOf' | 'allOf'>): Stage {
  if (allOf !== undefined) {
    const groups = [...new Set(allOf)];
    return { mode: 'all-of', approve: groups.length, deny: 1, groups };
  }
  const { approve = 1, deny = 1, of: groups = anyOf ?? null } = quorum ?? {};
  return { mode: 'quorum', approve, deny, groups };
}
