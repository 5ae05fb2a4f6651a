/**
 * A projection: something that the directory decides and every scope concerned has to know, such as the platform's roles.
 * What all projections have in common is in this folder; a declaration says what differs.
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
  /** SQL: whether there is anything that the scope `s` has to know. A scope without is never asked. */
  readonly concerns: string;
  /** Saves the revision of a change. A tenant of null stands for every tenant. */
  saveRevision(db: SqlDatabase, change: Change): void;
  /** The newest revision for a tenant. 0 when there never was any. */
  revision(db: SqlDatabase, tenant: string): number;
  /** What a scope is sent, as plain JSON. */
  load(db: SqlDatabase, scope: ScopeRow, revision: number): Payload;
  /** The request that sends it. */
  question(payload: Payload, scope: ScopeRecord, world: QuestionWorld): ProjectionQuestion;
  /** How it is reported: a row of a sweep for each scope, or a failure of operation for the first failure of a scope. */
  readonly report: 'sweep-runs' | { readonly operation: string; readonly detail: string };
}

export interface Change {
  readonly tenant: string | null;
  readonly revision: number;
}

export interface QuestionWorld {
  /** The permissions of a vertical that the registry does not know; null when the wiring does not know them either. */
  readonly permissionsOf: (vertical: string) => readonly string[] | null;
}

export interface ProjectionQuestion {
  readonly body: Readonly<Record<string, unknown>>;
  /** A scope that does not confirm what it was sent has not understood it, and would go on as before. */
  readonly answer: z.ZodType;
  local(host: VerticalScopeHost, ref: ScopeRef): Promise<unknown>;
}

/** A scope and what it is sent. */
export interface Delivery<Payload = unknown> {
  readonly scope: ScopeRecord;
  readonly revision: number;
  readonly payload: Payload;
}
