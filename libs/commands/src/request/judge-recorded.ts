import type { ToolCall } from '@countersign/domain';
import { recordedCall } from '@countersign/policy';
import type { Judgement, PolicyCall } from '@countersign/policy';
import type { CommandPorts } from '../ports.js';
import { withRunFacts } from './run-facts.js';

/** The policy's verdict on a recorded call with some changes. */
export function judgeRecorded(ports: CommandPorts, { request }: ToolCall, change: Partial<PolicyCall>): Judgement {
  const call = { ...recordedCall(request), ...change };
  const [judgement] = ports.policies
    .of(request.tenant)
    .judge(withRunFacts(ports, request.tenant, [call], request.callId), ports.clock.now());
  if (judgement === undefined) throw new Error('a policy must judge every call that it is given');
  return judgement;
}

export { toJudgement as toDomainJudgement } from '@countersign/domain';
