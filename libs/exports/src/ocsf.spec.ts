import { expect, it } from '@jest/globals';
import type { LogEventView } from '@countersign/contracts';
import { toOcsf } from './ocsf.js';

/** The members of class 6003 in version 1.8.0 that are used, with those of the profiles `ai_operation` and `security_control`. */
const members = [
  ...['activity_id', 'activity_name', 'actor', 'api', 'category_name', 'category_uid', 'class_name', 'class_uid'],
  ...['metadata', 'severity_id', 'src_endpoint', 'status_id', 'time', 'type_uid', 'unmapped'],
  ...['message_context', 'action', 'action_id', 'disposition', 'disposition_id', 'is_alert', 'policy'],
];

const event: LogEventView = {
  ...{ eventId: 'e-1', type: 'ToolCallBlocked', position: 7, revision: 1, tenant: 'acme' },
  ...{ callId: 'tc_1', toolCallId: 'c', toolName: 'pay', agentId: 'bot', runId: 'run-1' },
  recordedAt: '2026-11-02T00:00:00.000Z',
  actor: { kind: 'service', id: 'countersign', onBehalfOf: null },
  data: { verdict: { ruleId: 'no-root', policyVersion: 'sha256:1' } },
};

it('has only members of its version, in which an agent is the application of a message', () => {
  const ocsf = toOcsf(event);
  expect(Object.keys(ocsf).filter((name) => !members.includes(name))).toEqual([]);
  expect(ocsf['message_context']).toEqual({
    ...{ application: { name: 'bot', uid: 'bot' }, ai_role: 'Agent', ai_role_id: 4, uid: 'run-1' },
  });
  expect(toOcsf({ ...event, agentId: null })).not.toHaveProperty('message_context');
});
