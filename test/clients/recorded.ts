import type { Installation } from '../process/harness/standalone.ts';

type Ids = Readonly<Record<string, readonly string[]>>;

interface Recorded {
  readonly calls: readonly { readonly callId: string; readonly approval: { readonly approvalId: string } | null }[];
  readonly grantId: string;
}

const runs = ['run-1', 'run-2', 'run-3'];

/** Records calls and grants for schemathesis, and returns their ids by the name of the parameter. */
export async function recordCalls({ port, tokens }: Installation): Promise<Ids> {
  const post = async (token: string, path: string, body: object): Promise<Recorded> => {
    const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Recorded;
  };
  const calls = Array.from({ length: 12 }, (_, index) => {
    const args = { number: index, password: 'hidden' };
    return { toolCallId: `call-${String(index)}`, toolName: 'pay', arguments: args, needsApproval: index % 3 !== 0 };
  });
  const recorded: Recorded['calls'][number][] = [];
  for (const runId of runs) recorded.push(...(await post(tokens.agent, '/v1/tool-calls', { runId, calls })).calls);
  const grantIds: string[] = [];
  for (const toolName of ['a', 'b', 'c', 'd']) {
    const grant = { toolName, match: { any: true }, expiresInMs: 3_600_000, reason: 'for schemathesis' };
    grantIds.push((await post(tokens.me, '/v1/grants', grant)).grantId);
  }
  return {
    callId: recorded.map(({ callId }) => callId),
    approvalId: recorded.flatMap(({ approval }) => (approval === null ? [] : [approval.approvalId])),
    runId: runs,
    grantId: grantIds,
  };
}
