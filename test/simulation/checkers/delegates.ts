import type { EventData } from '@countersign/contracts';
import { operations } from '../actors/people.ts';
import { absences, hasLeft } from '../world/absences.ts';
import { eventsOf, requestOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * A response in another person's place comes from that person's delegate, while the person is away and still an approver.
 * A stage of a group is decided by people of the group, or by their delegates.
 */
export const delegates: CreateChecker = (site, fail) => ({
  onRecorded: (event) => {
    if (event.type !== 'ApprovalResponded') return;
    const response = event.data as EventData<'ApprovalResponded'>;
    const { approvalId, respondedBy, onBehalfOf, respondedAt, automatic } = response;
    const isInForce = absences.some(
      ({ who, delegate, from, until }) =>
        who === onBehalfOf && delegate === respondedBy && from <= respondedAt && respondedAt < until,
    );
    if (onBehalfOf !== null && !isInForce) {
      fail(
        `${respondedBy} responded to ${approvalId} in the place of ${onBehalfOf} at ${respondedAt}, without a delegation`,
      );
    }
    if (onBehalfOf !== null && hasLeft(site.departure, onBehalfOf, Date.parse(respondedAt))) {
      fail(`${respondedBy} responded to ${approvalId} in the place of ${onBehalfOf}, who is no approver any more`);
    }
    const tool = requestOf(eventsOf(site, event.metadata.callId ?? ''))?.toolName;
    const voice = onBehalfOf ?? respondedBy;
    if (tool === 'deploy' && !automatic && !operations.includes(voice)) {
      fail(`${voice} responded to ${approvalId}, which is for others`);
    }
  },
});
