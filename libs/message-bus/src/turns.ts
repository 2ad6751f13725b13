/** A queue for a resource that only one holder may have at a time. */
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
