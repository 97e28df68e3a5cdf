/** Return milliseconds to wait after so many failures in a row; all waits together are under ten seconds. */
export function backOff(failures: number, chance: number): number {
  return Math.min(250 * 2 ** (failures - 1), 4000) * (0.5 + chance / 2);
}

/** Wait; throws the signal's reason where it aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Return a key that nobody guesses: an anonymous turn belongs to whoever has it. */
export async function newKey(): Promise<string> {
  const bytes = (await cryptography()).getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
}

async function cryptography(): Promise<Crypto> {
  if (globalThis.crypto !== undefined) return globalThis.crypto;
  const name = "node:crypto"; // Node 18 has it as a module only; no bundler is to look for it
  const { webcrypto } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as {
    webcrypto: Crypto;
  };
  return webcrypto;
}
