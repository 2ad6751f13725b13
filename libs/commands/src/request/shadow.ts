import type { EventData, ToolCallEvent } from '@countersign/contracts';
import type { RuleResult } from '@countersign/domain';
import { differences } from '@countersign/policy';
import type { Judgement, PolicyCall } from '@countersign/policy';
import type { CommandPorts } from '../ports.js';

/** A candidate's verdicts on the calls of one request, in its order; undefined where there is none. */
export type ShadowVerdicts = readonly (EventData<'ToolCallShadowJudged'> | undefined)[];

const notesMax = 10;
const noteLengthMax = 256;

/**
 * Judges the calls of a request by the candidate policy of `COUNTERSIGN_POLICY_SHADOW`. The verdicts decide nothing: a
 * candidate that throws gives none. It has its own budget of work.
 */
export function judgeInShadow(
  { shadow, log }: CommandPorts,
  tenant: string,
  calls: readonly PolicyCall[],
  live: readonly Judgement[],
  at: number,
): ShadowVerdicts {
  const candidate = shadow?.of(tenant);
  if (candidate === undefined) return [];
  try {
    return candidate.judge(calls, at).map((judgement, index) => {
      const decided = live[index];
      return decided === undefined ? undefined : toShadowVerdict(judgement, decided);
    });
  } catch (error) {
    log.warn({ error, policyVersion: candidate.version }, 'the candidate policy could not judge a request');
    return [];
  }
}

function toShadowVerdict({ verdict, requirement }: Judgement, live: Judgement): EventData<'ToolCallShadowJudged'> {
  const { policyVersion, outcome, ruleId } = verdict;
  const decided = { outcome: live.verdict.outcome, ruleId: live.verdict.ruleId };
  // The append of a request must fit into the event store with it.
  const why = verdict.why.slice(0, notesMax).map((note) => note.slice(0, noteLengthMax));
  return { policyVersion, outcome, ruleId, live: decided, differs: differences(live, { verdict, requirement }), why };
}

/** Adds the candidate's verdict to the events that record a call: the last one, so that the others keep their ids. */
export function withShadowVerdict(
  result: RuleResult<ToolCallEvent>,
  verdict: ShadowVerdicts[number],
): RuleResult<ToolCallEvent> {
  const isRecorded = result.status === 'accepted' && result.events[0]?.type === 'ToolCallRequested';
  if (!isRecorded || verdict === undefined) return result;
  return { ...result, events: [...result.events, { type: 'ToolCallShadowJudged', data: verdict }] };
}
