/**
 * A projection: directory facts that every scope concerned has a copy of, such as the platform's roles. This folder is the
 * machinery of all projections; a declaration gives the differences.
 */
import type { ScopeRef, VerticalScopeHost } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { z } from 'zod';
import type { ScopeRecord } from '../declarations/records.ts';
import type { ScopeRow } from '../scopes/store.ts';

export interface Projection<Payload = unknown> {
  readonly name: 'roles' | 'entitlements';
  /** The operations that change it. */
  readonly changedBy: readonly string[];
  readonly outbox: 'role_outbox' | 'entitlement_outbox';
  /** Whether each tenant has a set of its own. The outbox has a column `tenant` then. */
  readonly byTenant: boolean;
  /** SQL: whether the scope `s` is concerned. Other scopes are never asked. */
  readonly concerns: string;
  /** Saves the revision of a change. A tenant of null stands for every tenant. */
  saveRevision(db: SqlDatabase, change: Change): void;
  /** The newest revision for a tenant; 0 before the first. */
  revision(db: SqlDatabase, tenant: string): number;
  /** Loads the payload for a scope, as plain JSON. */
  load(db: SqlDatabase, scope: ScopeRow, revision: number): Payload;
  /** The request that sends it. */
  question(payload: Payload, scope: ScopeRecord, world: QuestionWorld): ProjectionQuestion;
  /** The report: a row of a sweep for each scope, or a failed operation for the first failure of a scope. */
  readonly report: 'sweep-runs' | { readonly operation: string; readonly detail: string };
}

export interface Change {
  readonly tenant: string | null;
  readonly revision: number;
}

export interface QuestionWorld {
  /** The permissions of a vertical that is not in the registry; null when the wiring does not know them either. */
  readonly permissionsOf: (vertical: string) => readonly string[] | null;
}

export interface ProjectionQuestion {
  readonly body: Readonly<Record<string, unknown>>;
  /** The confirmation. A scope that answers anything else has not understood the payload. */
  readonly answer: z.ZodType;
  local(host: VerticalScopeHost, ref: ScopeRef): Promise<unknown>;
}

/** A scope and its payload. */
export interface Delivery<Payload = unknown> {
  readonly scope: ScopeRecord;
  readonly revision: number;
  readonly payload: Payload;
}
