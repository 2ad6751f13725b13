import type { EventData, GrantTerms, RecordedEvent, Verdict } from '@countersign/contracts';
import { grantStream } from '@countersign/contracts';
import { recordedCall } from '@countersign/policy';
import { policyOfVersion } from '../world/policies.ts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * A grant is used in time, at most as often as it says, once a call, and never after it was revoked; and each call that
 * cites a grant holds a use of it, and is one that the grant's creator could approve alone.
 */
export const grants: CreateChecker = (site, fail) => {
  const eventsBefore = ({ stream, revision }: RecordedEvent): readonly RecordedEvent[] =>
    (site.world.log.streams.get(stream) ?? []).slice(0, revision);
  const checkUse = (event: RecordedEvent): void => {
    const before = eventsBefore(event);
    const [created] = before;
    if (created?.type !== 'GrantCreated') return fail(`${event.stream} was used before it was created`);
    const { expiresAt, maxUses } = created.data as GrantTerms;
    const uses = before.filter(({ type }) => type === 'GrantUsed');
    if (before.some(({ type }) => type === 'GrantRevoked')) fail(`${event.stream} was used after it was revoked`);
    if (uses.length >= (maxUses ?? Infinity)) fail(`${event.stream} was used more often than ${String(maxUses)} times`);
    if (uses.some((one) => at(one, 'callId') === at(event, 'callId'))) fail(`a call took two uses of ${event.stream}`);
    if (String(at(event, 'usedAt')) >= expiresAt) fail(`${event.stream} was used after its end`);
  };
  const checkCovered = (event: RecordedEvent, grantId: string, policyVersion: string): void => {
    const callId = event.metadata.callId ?? '';
    const stream = site.world.log.streams.get(grantStream(grantId)) ?? [];
    const holds = stream.some((one) => one.type === 'GrantUsed' && at(one, 'callId') === callId);
    if (!holds) fail(`${callId} cites ${grantId} and holds no use of it`);
    const request = eventsOf(site, callId)[0]?.data as EventData<'ToolCallRequested'> | undefined;
    const terms = stream[0]?.data as GrantTerms | undefined;
    if (request === undefined || terms === undefined) return;
    if (request.requestedBy === terms.createdBy) fail(`${grantId} covered a call of its own creator`);
    const [judgement] = policyOfVersion(policyVersion)?.judge([recordedCall(request)], 0) ?? [];
    const people = judgement?.requirement.stages.reduce((sum, { approve }) => sum + approve, 0);
    if (judgement?.verdict.outcome !== 'require' || people !== 1) {
      fail(`${grantId} covered ${callId}, which is ${String(judgement?.verdict.outcome)} for ${String(people)}`);
    }
  };
  return {
    onRecorded: (event) => {
      if (event.type === 'GrantUsed') checkUse(event);
      if (event.type !== 'ToolCallAllowed') return;
      const { grantId, policyVersion } = at(event, 'verdict') as Verdict;
      if (grantId !== undefined) checkCovered(event, grantId, policyVersion);
    },
  };
};
