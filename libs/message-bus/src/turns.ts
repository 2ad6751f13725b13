/** A queue for something that only one at a time may have. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when it is this caller's turn, with what ends the turn. */
  async take(): Promise<() => void> {
    const before = this.#last;
    let end = (): void => undefined;
    this.#last = new Promise((resolve) => (end = resolve));
    await before;
    return end;
  }
}
