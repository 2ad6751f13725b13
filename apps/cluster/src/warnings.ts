/**
 * The Kafka client sets one timer to a negative time at its first request, which Node 24 answers with a warning. It is
 * harmless, and in every process's log it would only make people look; every other warning is printed as it is, one about
 * a negative time of anybody else too.
 */
export function dropKnownWarnings(target: Pick<NodeJS.Process, 'emitWarning'> = process): void {
  const emitWarning = target.emitWarning.bind(target) as (...args: unknown[]) => void;
  target.emitWarning = (...args: unknown[]): void => {
    const [warning, type] = args;
    const name = warning instanceof Error ? warning.name : type;
    if (name !== 'TimeoutNegativeWarning' || !comesFromKafkaClient()) emitWarning(...args);
  };
}

/** Node warns while the timer is being set: whoever sets it is still on the stack. */
function comesFromKafkaClient(): boolean {
  return /[\\/]node_modules[\\/]kafkajs[\\/]/.test(new Error('whence').stack ?? '');
}
