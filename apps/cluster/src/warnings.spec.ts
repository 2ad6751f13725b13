import { runInThisContext } from 'node:vm';
import { dropKnownWarnings } from './warnings.js';

type Emit = (...args: unknown[]) => void;

/** Code in a file of this name that gives such a warning. */
const emits = (filename: string, ...warning: readonly string[]): ((emit: Emit) => void) =>
  runInThisContext(`(emit) => emit(...${JSON.stringify(warning)})`, { filename }) as never;
const negative = ['-7 is a negative number.', 'TimeoutNegativeWarning'];
const inKafkaClient = '/app/node_modules/kafkajs/src/network/requestQueue/index.js';

describe('the warnings of a process', () => {
  it('are printed, but for the one of the Kafka client', () => {
    const printed: unknown[] = [];
    const target = { emitWarning: (...args: unknown[]) => void printed.push(args) } as never as NodeJS.Process;
    dropKnownWarnings(target);
    const emit = target.emitWarning as Emit;
    emits(inKafkaClient, ...negative)(emit);
    expect(printed).toEqual([]);
    emits('/app/node_modules/another/index.js', ...negative)(emit);
    emits(inKafkaClient, 'old', 'DeprecationWarning')(emit);
    emit(Object.assign(new Error('leak'), { name: 'MaxListenersExceededWarning' }));
    expect(printed).toMatchObject([negative, ['old', 'DeprecationWarning'], [{ message: 'leak' }]]);
  });
});
