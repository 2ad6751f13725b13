import type { Requirement, Stage } from '@countersign/contracts';
import { count, duration, durationOrNever, listOf, members, oneOf, text, truth } from './readers.js';
import type { MembersOf } from './readers.js';

/** What a rule asks of people, before a request wishes for less time or fewer decisions. */
export interface Asked {
  readonly requirement: Requirement;
  /** The policy says how long people are asked, so a request can only shorten it. */
  readonly isExpirySet: boolean;
}

const groups = listOf(text);
const decisions = oneOf('approve', 'edit', 'deny', 'answer');
const stageForms = {
  quorum: members({ approve: count, deny: count, of: groups }),
  anyOf: groups,
  allOf: groups,
};
const businessHours = members({
  ...{ zone: text, days: listOf(oneOf('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')), from: text, to: text },
});

const defaultForms = {
  expiresIn: durationOrNever,
  executeBy: durationOrNever,
  onTimeout: oneOf('deny', 'hold'),
  fourEyes: truth,
  allowedDecisions: listOf(decisions),
  businessHours,
  batch: oneOf('independent', 'sequential'),
};

/** `defaults` of a policy file. */
export const readDefaults = members(defaultForms);
export type WrittenDefaults = MembersOf<typeof defaultForms>;

const requireForms = {
  ...stageForms,
  ...{ stages: listOf(members(stageForms)), expiresIn: durationOrNever, executeBy: durationOrNever },
  onTimeout: oneOf('deny', 'escalate', 'hold', 'allow'),
  allowOnTimeout: oneOf('i-understand'),
  escalation: listOf(members({ to: groups, expiresIn: duration })),
  ...{ reminders: listOf(duration), businessHours, fourEyes: truth },
  ...{ requireReason: listOf(decisions), allowedDecisions: listOf(decisions) },
  minAssurance: oneOf('low', 'medium', 'high'),
  risk: oneOf('low', 'medium', 'high'),
  batch: oneOf('independent', 'sequential', 'all-or-nothing', 'any-asks-all'),
  ...{ denyEndsRun: truth, requireCheckedSchema: truth, requireSignature: truth },
};

/** `require` of a rule. */
export const readRequire = members(requireForms);
export type WrittenRequire = MembersOf<typeof requireForms>;

/** What holds where neither a rule nor the file says anything. */
const unwritten = {
  expiresIn: 3_600_000,
  executeBy: 3_600_000,
  onTimeout: 'deny',
  fourEyes: true,
  minAssurance: null,
  risk: null,
  allowedDecisions: ['approve', 'edit', 'deny', 'answer'],
  requireReason: [],
  escalation: [],
  reminders: [],
} as const;

/** What a rule asks, with the defaults of its file; without members, one approver. */
export function askedBy(written: WrittenRequire, defaults: WrittenDefaults): Asked {
  const all = { ...unwritten, stages: [written], ...defaults, ...written };
  const { expiresIn, executeBy, onTimeout, fourEyes, minAssurance, risk, businessHours: hours } = all;
  const requirement: Requirement = {
    ...{ stages: all.stages.map(stageOf), fourEyes, minAssurance, risk, onTimeout },
    ...{ allowedDecisions: [...all.allowedDecisions], requireReason: [...all.requireReason] },
    ...{ expiresInMs: expiresIn, executeByMs: executeBy, remindersMs: [...all.reminders] },
    escalation: all.escalation.map(({ to = [], expiresIn: time = 0 }) => ({ to: [...to], expiresInMs: time })),
    ...(hours !== undefined && { businessHours: hours as NonNullable<Requirement['businessHours']> }),
    ...marksOf(all),
  };
  const isExpirySet = [written.expiresIn, defaults.expiresIn, hours].some((one) => one !== undefined);
  return { requirement, isExpirySet };
}

function marksOf({
  batch = 'independent',
  denyEndsRun,
  requireCheckedSchema,
  requireSignature,
}: Pick<WrittenRequire, 'batch' | 'denyEndsRun' | 'requireCheckedSchema' | 'requireSignature'>) {
  return {
    ...(batch !== 'independent' && { batch }),
    ...(denyEndsRun === true && { denyEndsRun }),
    ...(requireCheckedSchema === true && { requireCheckedSchema }),
    ...(requireSignature === true && { requireSignature }),
  };
}

function stageOf({ quorum, anyOf, allOf }: MembersOf<typeof stageForms>): Stage {
  if (allOf !== undefined) {
    const all = [...new Set(allOf)];
    return { mode: 'all-of', approve: all.length, deny: 1, groups: all };
  }
  const { approve = 1, deny = 1, of = anyOf } = quorum ?? {};
  return { mode: 'quorum', approve, deny, groups: of === undefined ? null : [...of] };
}
