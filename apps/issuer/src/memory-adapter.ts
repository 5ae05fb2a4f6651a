/** The store of oidc-provider's sessions, grants, codes and clients: in memory, expiring and bounded. */
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

interface Entry {
  payload: AdapterPayload;
  readonly expiresAtMs: number;
}

export interface MemoryAdapterOptions {
  /** The clock, in milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** The number of entries per model; the oldest goes first. Clients are never dropped. Default 1000. */
  readonly entriesMax?: number;
}

/**
 * Makes one adapter per oidc-provider model. Look-ups by anything but the id walk the model's entries, a thousand at
 * most: a second index could disagree with the first.
 */
export function makeMemoryAdapter(options: MemoryAdapterOptions): AdapterFactory {
  const adapters = new Map<string, MemoryAdapter>();
  return (model) => {
    const existing = adapters.get(model);
    if (existing !== undefined) return existing;
    const entriesMax = model === 'Client' ? Number.POSITIVE_INFINITY : (options.entriesMax ?? 1000);
    const adapter = new MemoryAdapter(options.nowMs, entriesMax);
    adapters.set(model, adapter);
    return adapter;
  };
}

class MemoryAdapter implements Adapter {
  readonly #entries = new Map<string, Entry>();
  readonly #nowMs: () => number;
  readonly #entriesMax: number;

  constructor(nowMs: () => number, entriesMax: number) {
    this.#nowMs = nowMs;
    this.#entriesMax = entriesMax;
  }

  async upsert(id: string, payload: AdapterPayload, expiresInSeconds?: number): Promise<void> {
    const expiresAtMs =
      expiresInSeconds === undefined ? Number.POSITIVE_INFINITY : this.#nowMs() + expiresInSeconds * 1000;
    // Deleting first moves a renewed entry to the end, so that "oldest" means least recently written.
    this.#entries.delete(id);
    this.#entries.set(id, { payload, expiresAtMs });
    this.#makeRoom();
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const entry = this.#entries.get(id);
    return entry !== undefined && this.#isLive(entry) ? entry.payload : undefined;
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#findWhere((payload) => payload.uid === uid);
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#findWhere((payload) => payload.userCode === userCode);
  }

  /** Marks a code or token as used; oidc-provider then refuses it, and revokes the tokens that came from it. */
  async consume(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.payload = { ...entry.payload, consumed: Math.floor(this.#nowMs() / 1000) };
  }

  async destroy(id: string): Promise<void> {
    this.#entries.delete(id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, entry] of this.#entries) {
      if (entry.payload.grantId === grantId) this.#entries.delete(id);
    }
  }

  #findWhere(matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined {
    for (const entry of this.#entries.values()) {
      if (this.#isLive(entry) && matches(entry.payload)) return entry.payload;
    }
    return undefined;
  }

  #makeRoom(): void {
    if (this.#entries.size <= this.#entriesMax) return;
    for (const [id, entry] of this.#entries) {
      if (!this.#isLive(entry)) this.#entries.delete(id);
    }
    for (const id of this.#entries.keys()) {
      if (this.#entries.size <= this.#entriesMax) return;
      this.#entries.delete(id);
    }
  }

  #isLive(entry: Entry): boolean {
    return entry.expiresAtMs > this.#nowMs();
  }
}
