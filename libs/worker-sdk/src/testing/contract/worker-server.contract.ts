import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeBatches, describeCancellations, describeDecisions, describeQuestions } from './decisions.contract.js';
import { describeEvents } from './events.contract.js';
import { describeClaims, describeLeases, describeOutcomes } from './executions.contract.js';
import { describeLists, describeReads } from './reads.contract.js';
import { describeRequests } from './requests.contract.js';
import { createSender, type WorkerServer } from './worker-server.js';

/** The server's part of the suite. */
export interface WorkerServerContractOptions {
  readonly name: string;
  /** Opens a server without a policy, whose agent is `agent` and whose person is `me`. */
  readonly open: () => Promise<WorkerServer>;
}

/** Tests what any server shows a worker over HTTP. Call it at the top level of a spec. */
export function workerServerContract({ name, open }: WorkerServerContractOptions): void {
  describe(`a server for workers: ${name}`, () => {
    let opened: WorkerServer;
    const server = (): WorkerServer => opened;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    const sender = createSender(server);
    describeRequests(sender, server);
    describeReads(sender, server);
    describeLists(sender);
    describeDecisions(sender, server);
    describeQuestions(sender, server);
    describeCancellations(sender);
    describeBatches(sender, server);
    describeClaims(sender, server);
    describeLeases(sender, server);
    describeOutcomes(sender);
    describeEvents(sender, server);
  });
}
