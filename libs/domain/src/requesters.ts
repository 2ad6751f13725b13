import type { Approval, ToolCall } from './tool-call.state.js';

/** Everybody whose request it is: the principals that asked, the agents' owners, and the people for whom they act. */
export function requestersOf({ request }: Pick<ToolCall, 'request'>, approval: Approval): readonly string[] {
  const links = [request, ...(request.chain ?? [])];
  const people = links.flatMap(({ requestedBy, owner, onBehalfOf }) => [requestedBy, owner, onBehalfOf]);
  return [approval.requestedBy, ...people].filter((one) => one !== undefined);
}
