import type { EventData, GrantTerms, RecordedEvent, Verdict } from '@countersign/contracts';
import { grantStream } from '@countersign/contracts';
import { recordedCall } from '@countersign/policy';
import { policyOfVersion } from '../world/policies.ts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * A grant is used in time, at most as often as it says, once a call, and neither after it was revoked nor, above the risk
 * tier, before a second person confirmed it; and each call that cites a grant holds a use of it, and is one that the
 * grant's creator could approve alone.
 */
export const grants: CreateChecker = (site, fail) => {
  const eventsBefore = ({ stream, revision }: RecordedEvent): readonly RecordedEvent[] =>
    (site.world.log.streams.get(stream) ?? []).slice(0, revision);
  const checkUse = (event: RecordedEvent): void => {
    const before = eventsBefore(event);
    const [created] = before;
    if (created === undefined) return fail(`${event.stream} was used before it was created`);
    const isConfirmed = created.type === 'GrantCreated' || before.some(({ type }) => type === 'GrantConfirmed');
    if (!isConfirmed) fail(`${event.stream} was used before a second person confirmed it`);
    const { expiresAt, maxUses } = created.data as GrantTerms;
    const uses = before.filter(({ type }) => type === 'GrantUsed');
    if (before.some(({ type }) => type === 'GrantRevoked')) fail(`${event.stream} was used after it was revoked`);
    if (uses.length >= (maxUses ?? Infinity)) fail(`${event.stream} was used more often than ${String(maxUses)} times`);
    if (uses.some((one) => at(one, 'callId') === at(event, 'callId'))) fail(`a call took two uses of ${event.stream}`);
    if (String(at(event, 'usedAt')) >= expiresAt) fail(`${event.stream} was used after its end`);
  };
  const checkConfirmation = (event: RecordedEvent): void => {
    const before = eventsBefore(event);
    const { createdBy, expiresAt } = (before[0]?.data ?? {}) as Partial<GrantTerms>;
    if (at(event, 'confirmedBy') === createdBy) fail(`${event.stream} was confirmed by its creator`);
    if (before.some(({ type }) => type !== 'GrantProposed'))
      fail(`${event.stream} was confirmed when it was not pending`);
    if (String(at(event, 'confirmedAt')) >= String(expiresAt)) fail(`${event.stream} was confirmed after its end`);
  };
  const checkCovered = (event: RecordedEvent, grantId: string, policyVersion: string): void => {
    const callId = event.metadata.callId ?? '';
    const stream = site.world.log.streams.get(grantStream(grantId)) ?? [];
    const holds = stream.some((one) => one.type === 'GrantUsed' && at(one, 'callId') === callId);
    if (!holds) fail(`${callId} cites ${grantId} and holds no use of it`);
    const request = eventsOf(site, callId)[0]?.data as EventData<'ToolCallRequested'> | undefined;
    const terms = stream[0]?.data as GrantTerms | undefined;
    if (request === undefined || terms === undefined) return;
    if (terms.requestedBy !== undefined && terms.requestedBy !== request.requestedBy)
      fail(`${grantId} covered a call of another principal`);
    if (request.requestedBy === terms.createdBy) fail(`${grantId} covered a call of its own creator`);
    const confirmation = stream.find(({ type }) => type === 'GrantConfirmed');
    if (confirmation !== undefined && at(confirmation, 'confirmedBy') === request.requestedBy) {
      fail(`${grantId} covered a call of the person who confirmed it`);
    }
    const [judgement] = policyOfVersion(policyVersion)?.judge([recordedCall(request)], 0) ?? [];
    const people = judgement?.requirement.stages.reduce((sum, { approve }) => sum + approve, 0);
    if (judgement?.verdict.outcome !== 'require' || people !== 1) {
      fail(`${grantId} covered ${callId}, which is ${String(judgement?.verdict.outcome)} for ${String(people)}`);
    }
    if (judgement?.requirement.risk === 'high' && confirmation === undefined) {
      fail(`${grantId} covered ${callId} of a high risk, and no second person confirmed it`);
    }
  };
  return {
    onRecorded: (event) => {
      if (event.type === 'GrantUsed') checkUse(event);
      if (event.type === 'GrantConfirmed') checkConfirmation(event);
      if (event.type !== 'ToolCallAllowed') return;
      const { grantId, policyVersion } = at(event, 'verdict') as Verdict;
      if (grantId !== undefined) checkCovered(event, grantId, policyVersion);
    },
  };
};
