/** Calls `act` every so often while the page is visible, and once when it becomes visible. Returns a function that ends it. */
export function repeatWhileVisible(everyMs: number, act: () => void): () => void {
  const onTime = (): void => {
    if (document.visibilityState === 'visible') act();
  };
  const timer = setInterval(onTime, everyMs);
  document.addEventListener('visibilitychange', onTime);
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', onTime);
  };
}
