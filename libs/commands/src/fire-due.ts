import { currentApproval, currentProposal, dueCommand, toolCallDecider } from '@countersign/domain';
import type { Approval, DeadlineCommand, ExpireApproval, LapseClaim, ToolCall } from '@countersign/domain';
import { skewMsMax } from '@countersign/event-store';
import { builtInBatch, inBatch, settleBatch } from './batch.js';
import { allApproversOf } from './request/approvers.js';
import { builtAgain } from './stream/built-again.js';
import { wasStoppedSince } from './stops/coverage.js';
import { stopped, whenStopsKnown } from './stops/stopped.js';
import { forbidden } from './stream/forbidden.js';
import { withToolCall } from './stream/with-tool-call.js';
import type { Refused } from './stream/with-tool-call.js';
import { refused } from './result.js';
import type { CommandPorts } from './ports.js';
import { votersOf, withRemovedPasskeys } from './people/voters.js';

/**
 * Fires a call's deadline if it is due: expiry, escalation, reminder, lapse of the right to run, lapse of a claim. A limit
 * counts from the record of the event that began it, where that is later than the event says: the machine may have been
 * suspended together with its clocks.
 * Returns the log's position afterwards, or null when nothing was due, or what is due is held by an event that cannot be
 * read: nobody may respond to such an approval or run such a call, so its time does not end it.
 */
export async function fireDue(ports: CommandPorts, tenant: string, callId: string): Promise<number | null> {
  const commandId = ports.ids.uuid();
  const target = { tenant, callId, commandId };
  const outcome = await withToolCall(ports, target, toolCallDecider.decide, (call, now, lateMs) => {
    const due = dueCommand(call, lateMs > skewMsMax ? now - lateMs : now);
    if (due === null) return refused('not-due', 'nothing is due');
    return toFire(ports, call, due, commandId);
  });
  if (outcome.status === 'refused') return null;
  return Math.max(outcome.position, await settleBatch(ports, outcome.value));
}

type Fired = DeadlineCommand | Refused;

/** The command of a deadline. A stop holds back all that waits for people or for a claim; a claim that runs out ends as ever. */
function toFire(ports: CommandPorts, call: ToolCall, due: DeadlineCommand, commandId: string): Fired | Promise<Fired> {
  if (due.type === 'LapseClaim') return due;
  const held = (): Refused | undefined => stopped(ports, call.request) ?? heldBy(ports, call, due);
  return whenStopsKnown<Fired>(ports, call.request.tenant, () => {
    switch (due.type) {
      case 'ExpireApproval':
        return ofPolicyNow(ports, call, (policy) =>
          ended(ports, call, () => held() ?? { ...due, ...factsOfEnd(ports, call), ...policy }, commandId),
        );
      case 'LapseApproval':
        return builtInBatch(ports, call, () => held() ?? due, commandId);
      case 'RemindApprovers':
        return held() ?? due;
    }
  });
}

/** The end of an approval, with the passkeys of its votes and the state of its batch. */
function ended(
  ports: CommandPorts,
  call: ToolCall,
  build: () => ExpireApproval | Refused,
  commandId: string,
): ExpireApproval | Refused | Promise<ExpireApproval | Refused> {
  const first = build();
  if ('refusal' in first) return first;
  return builtAgain(first, build, (command) => {
    const signed = withRemovedPasskeys(ports, call.request.tenant, currentApproval(call), command);
    const next = (one: ExpireApproval) => inBatch(ports, call, one, commandId);
    return signed instanceof Promise ? signed.then(next) : next(signed);
  });
}

/**
 * Attack: a process with an older policy file still lists people who could object, and silence approves although nobody is left. Where
 * the approvers are known at all, they must be those of the policy in force.
 */
function ofPolicyNow<Value>(
  ports: CommandPorts,
  call: ToolCall,
  next: (policy: Pick<ExpireApproval, 'isOtherPolicy'>) => Value | Promise<Value>,
): Value | Promise<Value> {
  const { policyInForce, policies } = ports;
  const { tenant } = call.request;
  const isAsked = approversAtSilence(ports, tenant, currentApproval(call)).approvers !== undefined;
  if (policyInForce === undefined || !isAsked) return next({});
  return policyInForce(tenant).then((version) =>
    next(version === policies.of(tenant).version ? {} : { isOtherPolicy: true }),
  );
}

/** What the end of an approval depends on besides the call, as it is now. */
function factsOfEnd(
  ports: CommandPorts,
  call: ToolCall,
): Omit<ExpireApproval, 'type' | 'at' | 'batch' | 'removedPasskeys' | 'approvalId' | 'isOtherPolicy'> {
  const { tenant } = call.request;
  const approval = currentApproval(call);
  return {
    ...votersOf(ports, tenant, approval, ports.clock.now()),
    ...approversAtSilence(ports, tenant, approval),
    ...timeOf(ports, call, approval),
  };
}

/** The refusal of a time limit by a policy or a cancellation that cannot be read. */
function heldBy(
  ports: CommandPorts,
  { request }: ToolCall,
  due: Exclude<DeadlineCommand, LapseClaim>,
): Refused | undefined {
  switch (due.type) {
    case 'ExpireApproval':
    case 'RemindApprovers':
      return forbidden(ports, request, 'judge');
    case 'LapseApproval':
      return forbidden(ports, request, 'run');
  }
}

/** The approvers, where silence would approve: it must not if no person is left who could have objected. */
function approversAtSilence(
  ports: CommandPorts,
  tenant: string,
  approval: Approval | undefined,
): Pick<ExpireApproval, 'approvers'> {
  const isSilence =
    approval !== undefined && currentProposal(approval).requirements.some(({ onTimeout }) => onTimeout === 'allow');
  const approvers = isSilence ? allApproversOf(ports, tenant) : null;
  return approvers === null ? {} : { approvers };
}

/** People had less time than the limit: the service did not run in all of it, or a stop or a policy that could not be read refused their responses. */
function timeOf(
  { clock, forbidding, stops }: CommandPorts,
  { request }: ToolCall,
  approval: Approval | undefined,
): Pick<ExpireApproval, 'isTimeUnsure'> {
  if (approval === undefined) return {};
  const requestedAt = Date.parse(approval.requestedAt);
  const isUnsure =
    clock.missedSince?.(requestedAt) === true ||
    (forbidding?.policyBackAt(request.tenant) ?? -Infinity) >= requestedAt ||
    wasStoppedSince(stops.known(request.tenant), request, requestedAt);
  return isUnsure ? { isTimeUnsure: true } : {};
}
