import { workerServerContract } from './contract/worker-server.contract.js';
import { createFakeCountersign } from './fake-countersign.js';

workerServerContract({
  name: 'the fake',
  open: async () => {
    const fake = createFakeCountersign();
    return {
      url: 'http://countersign.test',
      fetch: fake.fetch,
      token: 'cs_agent',
      resolverToken: () => 'cs_worker',
      respond: async ({ toolCallId }, { decision, reason, instruction }) => {
        const remarks = { ...(reason !== undefined && { reason }), ...(instruction !== undefined && { instruction }) };
        if (decision.type === 'edit') fake.edit(toolCallId, decision.arguments, remarks);
        else if (decision.type === 'answer') fake.answer(toolCallId, decision.output, remarks);
        else fake[decision.type](toolCallId, remarks);
      },
      expire: async ({ toolCallId }) => fake.expire(toolCallId),
      endLease: async ({ toolCallId }) => fake.loseWorker(toolCallId),
      retry: async ({ toolCallId }) => fake.retry(toolCallId),
      setMayClaim: fake.setMayClaim,
      close: async () => undefined,
    };
  },
});
