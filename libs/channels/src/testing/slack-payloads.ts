const alice = { user: { id: 'U01', team_id: 'T01' }, team: { id: 'T01' } };

/** Slack's payload of a press by Alice. */
export function slackPress(actionId: string, value: string, change: object = {}) {
  return {
    type: 'block_actions',
    ...alice,
    trigger_id: 'trigger-1',
    container: { type: 'message', channel_id: 'C0123', message_ts: '1700000000.000001' },
    actions: [{ action_id: actionId, value }],
    ...change,
  };
}

/** Slack's payload of a modal that Alice submitted: the opened view, and her input. */
export function slackSubmission(
  view: object,
  { decision, reason, args }: { readonly decision: string; readonly reason?: string; readonly args?: string },
) {
  const values = {
    decision: { value: { type: 'static_select', selected_option: { value: decision } } },
    reason: { value: { type: 'plain_text_input', value: reason ?? null } },
    arguments: { value: { type: 'plain_text_input', value: args ?? null } },
  };
  return { type: 'view_submission', ...alice, view: { id: 'V1', ...view, state: { values } } };
}
