import { crashFailure, Probation } from './probation.js';

const nothing = (): void => undefined;

/** Takes over with this stored record. `store` receives the records that it stores. */
function takeOver(record: string, life = 'me') {
  const probation = new Probation({ record, life, messagesMax: 3 });
  const stored: string[] = [];
  const store = (): void => void stored.push(probation.record);
  return { probation, stored, trial: () => probation.trial(store, store) };
}

describe('the record of a process that handles messages', () => {
  it.each([
    ['nothing, as after an orderly end', '', true, 0],
    ['the text of another program', 'committed by hand', true, 0],
    ['messages handled concurrently', 'together 0 other', false, 1],
    ['a message handled alone', 'alone 1 other', false, 2],
    ['a message that waits to be handled alone', 'suspect 2 other', false, 2],
    ['messages handled concurrently by this very process', 'together 0 me', true, 0],
    ['a message handled alone by this very process', 'alone 1 me', false, 1],
  ])('%s: so many processes have ended with the first message', (_, record, over, crashes) => {
    const { probation, trial } = takeOver(record);
    expect([probation.over, trial().crashes]).toEqual([over, crashes]);
  });

  it('counts a process once, however often it is read before another message is handled', () => {
    const { probation } = takeOver('alone 1 first', 'second');
    expect(probation.record).toBe('suspect 2 second');
    expect(takeOver(probation.record, 'third').trial().crashes).toBe(2);
    expect(takeOver('alone 1 first', 'third').trial().crashes).toBe(2);
  });

  it('says that a message is handled alone only while its handler runs', async () => {
    const { stored, trial } = takeOver('together 0 other');
    const first = trial();
    await first.begin();
    await first.end();
    expect(stored).toEqual(['alone 1 me', 'suspect 1 me']);
  });

  it('ends with the messages that the ended process may have handled', () => {
    const { probation } = takeOver('alone 2 other');
    for (const left of [2, 1]) {
      probation.settled();
      expect([left, probation.over, probation.record]).toEqual([left, false, 'suspect 1 me']);
    }
    probation.settled();
    expect([probation.over, probation.record, probation.farewell]).toEqual([true, 'together 0 me', '']);
  });

  it('is kept over an orderly end in the middle of a probation', () => {
    const { probation } = takeOver('alone 1 other');
    expect(probation.farewell).toBe('suspect 2 me');
    probation.finish();
    expect(probation.farewell).toBe('');
  });

  it('is of an earlier process where one at a time has it', () => {
    const probation = new Probation({ record: 'together 0 -', messagesMax: 3 });
    expect(probation.trial(nothing, nothing).crashes).toBe(1);
  });
});

it('parks a message that ended three processes', () => {
  expect([0, 1, 2].map(crashFailure)).toEqual([undefined, undefined, undefined]);
  expect(crashFailure(3)).toEqual({
    code: 'crashed',
    detail: '3 processes ended while they handled this message',
    attempts: 3,
  });
});
