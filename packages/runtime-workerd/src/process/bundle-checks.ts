/**
 * Asks bundles what they declare, in a process that serves nothing: their code may hang, or take all memory. One at a time:
 * a bundle that ends the process ends no other's check.
 */
import { PlatformError } from '@freehold/contracts';
import { type ProcessFault, VerticalProcess, type VerticalProcessOptions } from './vertical-process.ts';

/** The longest time that a bundle may take to say what it declares. */
const CHECK_MS = 20_000;
/** The longest wait for the reason of a process's end. */
const REASON_MS = 2_000;

export class BundleChecks {
  readonly #options: Omit<VerticalProcessOptions, 'onFault' | 'onDown'>;
  readonly #checkMs: number;
  #process: { readonly runs: VerticalProcess; readonly fault: Promise<ProcessFault> } | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: Omit<VerticalProcessOptions, 'onFault' | 'onDown'>, checkMs = CHECK_MS) {
    this.#options = options;
    this.#checkMs = checkMs;
  }

  /**
   * @param name of the bundle, as the platform's socket is asked for it. @throws PlatformError `validation_failed`, reason
   * `bundle_broken`; `unavailable` where no process can be started.
   */
  declarationOf(name: string): Promise<unknown> {
    const answered = this.#last.then(() => this.#ask(name));
    this.#last = answered.catch(() => undefined);
    return answered;
  }

  /** Starts the process for a check that follows soon: a start takes longer than a check. */
  warm(): void {
    if (this.#isClosed) return;
    this.#process ??= this.#open();
    // The check tells of a start that fails.
    this.#process.runs.wake().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process?.runs.close(0);
  }

  async #ask(name: string): Promise<unknown> {
    if (this.#isClosed) throw unavailable(new Error('the platform is shutting down'));
    this.#process ??= this.#open();
    const { runs, fault } = this.#process;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const detail = `It did not say within ${this.#checkMs / 1_000} seconds what it declares.`;
    const timer = setTimeout(() => reject(new Error(detail)), this.#checkMs);
    try {
      return await Promise.race([runs.order('POST', `/check?digest=${encodeURIComponent(name)}`), late]);
    } catch (cause) {
      if (!(cause instanceof PlatformError)) {
        await this.#abandon(runs);
        throw broken(detail, cause);
      }
      if (cause.code !== 'unavailable') throw broken(saidBy(cause), cause);
      const ended = await Promise.race([fault, sleep(REASON_MS)]);
      await this.#abandon(runs);
      if (ended === null || ended.reason === 'not_started') throw unavailable(cause);
      throw broken(ended.detail, cause);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The next check finds a process of its own, and no pause that this one caused. */
  async #abandon(runs: VerticalProcess): Promise<void> {
    this.#process = null;
    await runs.close(0);
  }

  #open() {
    const { promise: fault, resolve } = Promise.withResolvers<ProcessFault>();
    const runs = new VerticalProcess({ ...this.#options, onFault: resolve, onDown: () => undefined });
    return { runs, fault };
  }
}

async function sleep(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms).unref());
}

/** The host's refusal carries the error of the bundle. */
function saidBy({ cause, code }: PlatformError): string {
  return `${cause instanceof Error ? cause.message : code}.`.slice(0, 500);
}

function broken(detail: string, cause: unknown): PlatformError {
  return new PlatformError(
    'validation_failed',
    `The bundle cannot be loaded: ${detail} Run it with freehold dev, and deploy it again.`,
    { reason: 'bundle_broken', cause },
  );
}

function unavailable(cause: unknown): PlatformError {
  return new PlatformError('unavailable', 'Bundles cannot be checked at the moment. Try again later.', {
    reason: 'checks_failed',
    headers: { 'retry-after': '10' },
    cause,
  });
}
