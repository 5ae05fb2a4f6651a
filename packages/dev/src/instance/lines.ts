/** The words of the process of the application: its own lines, errors with their place in the source, and hosts that it calls. */
import type { HostedLine } from '@freehold/runtime-workerd';
import { z } from 'zod';
import type { Positions } from '../build/positions.ts';
import { type DevEvent, type Fault, placeOf } from '../lib/events.ts';
import type { RequestLog } from './request-log.ts';

export interface LinesOptions {
  readonly positions: Positions;
  /** A stack of a bundle, with the places of the source. */
  readonly mapStack: (slug: string, digest: string | null, stack: string) => Promise<string>;
  /** Whether the version that serves declares to call a host. */
  readonly isDeclared: (host: string) => boolean;
  readonly requests: RequestLog;
  readonly onEvent: (event: DevEvent) => void;
  readonly onFault: (where: string, fault: Fault) => void;
}

/** An unexpected error, as an instance reports it (`hosted.ts`). */
const incident = z.object({
  freehold: z.literal('incident'),
  where: z.object({ kind: z.string(), method: z.string() }),
  error: z.string(),
});
/** A reaction that was refused. */
const refused = z.object({
  freehold: z.literal('refused'),
  reaction: z.string(),
  code: z.string(),
  detail: z.string(),
});

interface ToldError {
  readonly where: string;
  readonly message: string;
  /** Of the request that it belongs to. */
  readonly trace?: string | undefined;
}

export class Lines {
  readonly #options: LinesOptions;
  readonly #hosts = new Set<string>();
  #taken: Promise<void> = Promise.resolve();
  /** The errors of the version that is being opened; null while none is. */
  #opening: Fault[] | null = null;

  constructor(options: LinesOptions) {
    this.#options = options;
  }

  /** Resolves when everything that was taken has been dealt with. */
  get settled(): Promise<void> {
    return this.#taken;
  }

  /** Never throws. */
  take(slug: string, lines: readonly HostedLine[]): void {
    this.#taken = this.#taken.then(async () => {
      for (const line of lines) await this.#take(slug, line);
    });
  }

  /** Keeps the errors from now on, which belong to a version that is being opened. */
  beginOpening(): void {
    this.#opening = [];
  }

  /** Returns the errors since {@link beginOpening}; those that follow are shown. */
  async endOpening(): Promise<readonly Fault[]> {
    await this.#taken;
    const faults = this.#opening ?? [];
    this.#opening = null;
    return faults;
  }

  async #take(slug: string, line: HostedLine): Promise<void> {
    switch (line.kind) {
      case 'console':
        return this.#console(slug, line);
      case 'exception':
        return this.#error(
          { where: 'a request', message: `${line.name}: ${line.text}`, trace: line.trace },
          await this.#options.mapStack(slug, line.digest, line.stack),
        );
      case 'failed':
        return this.#failed(slug, line);
      case 'egress':
        return this.#called(line);
      case 'cut':
      case 'dropped':
        return this.#note(`${line.lines} lines of the application are not shown: there were too many.`);
      case 'invoked':
        return;
    }
  }

  /** workerd tells why a bundle could not be started as a text with a stack below it. */
  async #failed(slug: string, { text, method }: Extract<HostedLine, { kind: 'failed' }>): Promise<void> {
    const stack = await this.#options.mapStack(slug, null, text);
    const message = text
      .replace(/^(?:Error: )?Failed to start Worker:\s*Uncaught /, '')
      .replace(/\n\s+at .*$/s, '');
    return this.#error({ where: `the instance (${method})`, message }, stack);
  }

  async #console(
    slug: string,
    { level, text, digest, trace }: Extract<HostedLine, { kind: 'console' }>,
  ): Promise<void> {
    const said = level === 'error' ? parsed(text) : null;
    const error = incident.safeParse(said).data;
    if (error) {
      const stack = await this.#options.mapStack(slug, digest, error.error);
      const where = `${error.where.kind} ${error.where.method}`;
      return this.#error({ where, message: stack.split('\n', 1)[0] ?? '', trace }, stack);
    }
    const refusal = refused.safeParse(said).data;
    if (refusal) {
      const { reaction, code, detail } = refusal;
      return this.#error({ where: `the reaction ${reaction}`, message: `${detail} (${code})`, trace });
    }
    this.#options.requests.note(trace, { level, text, place: null });
    this.#options.onEvent({ type: 'log', level, text });
  }

  #called({ host, status, refused: isRefused }: Extract<HostedLine, { kind: 'egress' }>): void {
    if (status === null && !isRefused)
      this.#note(`A call to ${host} failed. A deployed application reaches public addresses alone.`);
    if (this.#options.isDeclared(host) || this.#hosts.has(host)) return;
    this.#hosts.add(host);
    this.#note(
      `The application calls ${host}, which egress in its declaration lacks: a platform may refuse it.`,
    );
  }

  #error({ where, message, trace }: ToldError, stack = ''): void {
    const { positions, requests, onFault } = this.#options;
    const fault = positions.describeStack(message.replace(/^Error: /, ''), stack);
    requests.note(trace, { level: 'error', text: fault.message, place: placeOf(fault) });
    if (this.#opening) this.#opening.push(fault);
    else onFault(where, fault);
  }

  #note(text: string): void {
    this.#options.onEvent({ type: 'note', text });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
