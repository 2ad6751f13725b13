import { beforeAll, expect, it, jest } from '@jest/globals';
import { missing } from '../../../test/clients/tools.ts';
import { cleanUpAfterAll } from '../../../test/process/harness/cleanup.js';
import { approveAs, installDesk, openChat } from './php-desk.ts';

jest.setTimeout(300_000);

if (missing(['PHP with Guzzle']).length === 0) {
  let env: Readonly<Record<string, string>>;
  cleanUpAfterAll();
  beforeAll(async () => {
    const { port, tokens } = await installDesk();
    const url = `http://127.0.0.1:${String(port)}`;
    const sent = { COUNTERSIGN_TOKEN: 'support-desk-token', COUNTERSIGN_RESOLVER_TOKEN: tokens.worker };
    env = { URL: url, COUNTERSIGN_URL: url, ...sent };
  });

  it('the chat of the guide shows its user what that person may see, and whether they may decide', async () => {
    const chat = await openChat(env);
    const toolCalls = [{ name: 'get_location', arguments: { password: 'hunter2' } }];
    const { toolApprovalRequests } = await chat.post([{ role: 'assistant', id: 'msg_13', toolCalls }]);
    expect(toolApprovalRequests).toMatchObject([{ mayNotDecide: null, hidden: ['/password'] }]);
    expect(JSON.stringify(toolApprovalRequests)).not.toContain('hunter2');
  });

  it('the chat of the guide shows its user no secret of an edit in the result', async () => {
    const chat = await openChat(env);
    const toolCalls = [{ name: 'get_location', arguments: { password: 'hunter2' } }];
    const assistant = { role: 'assistant', id: 'msg_14', toolCalls };
    const { approvalId } = (await chat.post([assistant])).toolApprovalRequests[0]!;
    const decision = { type: 'edit', arguments: { password: 'correct-horse' } };
    expect(await approveAs(env, 'lee', 'chat', approvalId, { decision })).toBe(200);
    const toolResults = [{ toolCallId: 'msg_14/0', result: 'Bern' }];
    const end = await chat.post([assistant, { role: 'tool', toolResults }]);
    expect(end.toolResults).toEqual({
      'msg_14/0': expect.stringMatching(/^Bern\nAn approver changed .*\nArguments: /),
    });
    expect(JSON.stringify(end)).not.toContain('correct-horse');
  });

  it('in the chat of the guide a "yes" counts only where the page showed all calls that it releases', async () => {
    const chat = await openChat(env);
    const toolCalls = [3001, 3002, 3003].map((amount) => ({ name: 'transfer', arguments: { amount } }));
    const assistant = { role: 'assistant', id: 'msg_15', toolCalls };
    const answersTo = (asked: readonly object[]) => ({
      role: 'tool',
      toolApprovalResponses: asked.map((one) => ({ ...one, approved: true })),
    });
    const { toolApprovalRequests: asked } = await chat.post([assistant]);
    expect(asked[0]!.text).toContain('- transfer {"amount":3002} (awaiting approval)\n');
    const decision = { type: 'edit', arguments: { amount: 3099 } };
    expect(await approveAs(env, 'lee', 'chat', asked[1]!.approvalId, { decision })).toBe(200);

    const history = [assistant, answersTo(asked)];
    const stale = await chat.post(history);
    const problems = ['digest-mismatch', 'already-resolved', 'digest-mismatch'];
    expect(asked.map(({ approvalId }) => stale.refused[approvalId]?.problem)).toEqual(problems);
    expect(stale.toolResults).toEqual({});
    expect(stale.toolApprovalRequests.map(({ approvalId }) => approvalId)).toEqual(
      [asked[0], asked[2]].map((one) => one!.approvalId),
    );
    expect(stale.toolApprovalRequests[0]!.text).toContain(
      '- transfer {"amount":3099} (approved, approved by support-desk#lee)\n',
    );
    const unseen = stale.toolApprovalRequests.map(({ approvalId, digest, shownRevision }) => ({
      ...{ approvalId, digest, shownRevision },
    }));
    expect((await chat.post([assistant, answersTo(unseen)])).toolResults).toEqual({});

    const shown = answersTo(stale.toolApprovalRequests);
    for (const _ of ['once', 'again'])
      expect(await chat.post([...history, shown])).toMatchObject({
        toolResults: {
          'msg_15/0': 'sent 3001',
          'msg_15/1': expect.stringContaining('sent 3099'),
          'msg_15/2': 'sent 3003',
        },
        stopReason: null,
      });
  });
} else {
  it('is not tried in PHP, which is not installed here', () => undefined);
}
