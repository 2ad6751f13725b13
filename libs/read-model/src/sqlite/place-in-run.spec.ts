import { expect, it } from '@jest/globals';
import { applyAll, opened, recordPending } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog } from '../testing/test-log.js';

const path = scratchFolder();

it('the place of a call in its run is the same in memory, in the file, and where a part of the run is in each', async () => {
  const log = createTestLog();
  const model = await opened(path('m.db'), log);
  const calls = ['call_1', 'call_2', 'call_3'].map((one) => recordPending(log, one).callId);
  const places = () => calls.map((callId) => model.placeInRun('default', callId));
  applyAll(model, log);
  const three = [1, 2, 3].map((n) => ({ n, of: 3 }));
  expect(places()).toEqual(three);
  model.flush();
  expect(places()).toEqual(three);
  calls.push(recordPending(log, 'call_4').callId);
  applyAll(model, log);
  expect(places()).toEqual([1, 2, 3, 4].map((n) => ({ n, of: 4 })));
  expect(model.placeInRun('other', calls[0] ?? '')).toBeUndefined();
  model.close();
});
