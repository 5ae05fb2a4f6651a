/** A vertical as a declaration (design: application): what its builder writes, and nothing else. */
import type { EntityRef, PlatformError, PrincipalId, VerticalManifest } from '@freehold/contracts';
import type {
  Executor,
  LongWork,
  RetentionPolicy,
  Schedule,
  ScopeStub,
  Subscription,
  Vertical,
} from '@freehold/kernel';
import type { OperationTable } from '@freehold/operations';
import type { Migration } from '@freehold/store';
import type { OpenApiInfo, PublicRouteRegistry } from '@freehold/vertical-host';
import type { Hono } from 'hono';
import { modelOperations } from '../model-accounting/operations.ts';
import { findMistakes } from './check.ts';
import type { AppContext, AppEnv, Instance } from './env.ts';
import { AppDeclarationError } from './mistakes.ts';
import type { GovernedModel } from './model.ts';
import { type AddressedRecord, recordsOf } from './records.ts';
import type { AuthenticatedPrincipal } from './seam.ts';
import { verticalOf } from './vertical-of.ts';

/**
 * A vertical: what {@link defineApp} takes. All but `manifest`, `migrations`, `operations` and `authenticatedPrincipal` may
 * be left out. docs/application.md has each field with an example.
 */
export interface AppDeclaration {
  /**
   * Permissions, roles, entities and settings. The permissions of the team (`team.read`, `member.manage`, `audit.read`),
   * which the owner role always has, and the settings of sign-in are added, unless it declares them in its own words.
   */
  readonly manifest: VerticalManifest;
  /** The tables, version by version. Applied to every scope when it is opened. */
  readonly migrations: readonly Migration[];
  /** By name: `booking/confirm`. Route, tool, client method and command follow from each. */
  readonly operations: OperationTable;
  /** Operations that follow events, by the subscriber's name. */
  readonly on?: Readonly<Record<string, Subscription>>;
  /** Outside work that follows events, by the executor's name. */
  readonly executors?: Readonly<Record<string, Executor>>;
  /** Operations at set times, by the schedule's name. */
  readonly schedules?: Readonly<Record<string, Schedule>>;
  /** Long work, by the name of the operation that starts it; that of records is added. docs/long-work.md. */
  readonly works?: Readonly<Record<string, LongWork>>;
  /** Default: everything is kept for good. */
  readonly retention?: RetentionPolicy;
  /** The greatest number of deliveries in a chain. Default 16. */
  readonly chainMax?: number;
  /** Default: no rules beside the permissions that the manifest gives an entity's attachments. */
  readonly attachments?: AttachmentRules;
  /** Default: no person can be erased at an address of the application. */
  readonly erasure?: ErasureRules;
  /** Default: nothing for other sites. */
  readonly publicSurface?: PublicSurface;
  /**
   * True for an application that asks language models: {@link AppTools.model} is there then, and a migration makes the
   * `MODEL_TABLES`. Default false.
   */
  readonly models?: boolean;
  /**
   * The hosts that its own code means to call: `api.example.com`, or `*.example.com` for every name below it. Its platform
   * shows them beside those that it did call, and may refuse all others. Default: none.
   */
  readonly egress?: readonly string[];
  /**
   * `tenant`: where it is deployed, each tenant gets an isolate of its own, so that no variable of a module is shared between
   * tenants; it costs some memory for each. Default: all instances of a version may share one.
   */
  readonly isolate?: 'tenant';
  /** The look of the supplied pages. Default: that of {@link AppLook}. */
  readonly look?: AppLook;
  /**
   * The folder of the application's own built pages, relative to its `package.json`: `./web/dist`. They take the place of
   * the supplied ones, sign-in excepted, unless {@link suppliedPages} keeps these. Default: the supplied pages.
   *
   * Or single pages of its own in the place of those of records, by the page: `{ 'item/:id': './web/item.tsx' }`. The pages
   * are `/`, `item`, `item/new`, `item/:id` and `item/:id/edit`; a file has a component as its default export, which gets
   * the properties of `OwnPageProps` of `@freehold/app/pages`.
   */
  readonly web?: string | Readonly<Record<string, string>>;
  /**
   * True keeps the supplied pages beside `web`: the team, links of invites and claims, the log, the account, settings and
   * erasure stay at their addresses, and `/` without such a link is that of `web`, but for a signed-in person who is no
   * member. Default: false with a folder as `web`, else true.
   */
  readonly suppliedPages?: boolean;
  /** Adds what is no operation, behind the supplied routes. Handlers under `/api` ask {@link AppTools.principal} first. */
  readonly routes?: AppRoutes;
  /** The API's document: its description, contact, license, tags, and the routes that `routes` adds. */
  readonly openapi?: Omit<OpenApiInfo, 'title' | 'version'>;
  /** The seam of sign-in: `signedIn()`, or `unauthenticated()`, with which everything under `/api` is 401. */
  readonly authenticatedPrincipal: AuthenticatedPrincipal;
}

/** Routes of an application that are no operations. */
export type AppRoutes = (app: Hono<AppEnv>, tools: AppTools) => void;

/** Rules for the files of records, beside the permissions that the manifest declares. */
export interface AttachmentRules {
  /** Refuses to remove a file in the present state of its record, by a `PlatformError`. */
  readonly requireRemovable?: NonNullable<Vertical['requireRemovable']>;
  /**
   * The refusal of all files of a record; null where they may be seen. `output` is what `<type>/get` answered.
   */
  readonly hidden?: (entity: EntityRef, output: unknown) => PlatformError | null;
}

/** The erasure of a person, beside the sealed data: which records, and who may do it. */
export interface ErasureRules {
  /**
   * Types of records that stand for a person, whose id is the subject of the sealed data. Each has the route
   * `POST <record>/erase`.
   */
  readonly persons?: Readonly<Record<string, ErasablePerson>>;
  /** Removes an erased person's unsealed data from the application's own tables. */
  readonly onShred?: NonNullable<Vertical['onShred']>;
  /** Seals the values in the application's own tables anew, in a copy of another scope. */
  readonly reseal?: NonNullable<Vertical['reseal']>;
  /**
   * Columns with unsealed personal data, by table: `{ renters: ['name', 'email'] }`. A preview gets them masked. Default:
   * none. Sealed values need no mention: no preview opens them.
   */
  readonly personal?: Readonly<Record<string, readonly string[]>>;
}

/** A type of records that stand for persons who can be erased. */
export interface ErasablePerson {
  /** Needed for the whole scope. */
  readonly permission: string;
  /** The refusal in the present state of the record; null where it may be erased. `output` is that of `<type>/get`. */
  readonly refuse?: (output: unknown) => PlatformError | null;
  /** An operation that is run as the caller after the erasure, with an empty input. */
  readonly afterwards?: string;
}

/** Requests of visitors of other sites, who do not sign in (spec 4.6). Its routes are below `/public`. */
export interface PublicSurface {
  /** The service of the manifest that visitors act as. */
  readonly service: string;
  /**
   * The sites that may ask, as origins (`https://shop.example`): a setting that lists them with blanks between, or an
   * operation with an empty input that answers `{ origins }`.
   */
  readonly sites: { readonly setting: string } | { readonly operation: string };
  /** The script of the widget, and where it is served. Without `source` it is the built page of that path. */
  readonly script?: { readonly path: string; readonly source?: string };
  /** The largest body in bytes. Default 16 KiB. */
  readonly bodyBytesMax?: number;
  /** The uses of a form by the people behind one network address. Default: 20 times a day. */
  readonly limit?: { readonly times: number; readonly windowSeconds: number };
  /** Registers the handlers, with paths below `/public`. Called at each mount and when the declaration is checked. */
  readonly routes: (route: PublicRouteRegistry<AppEnv>, tools: VisitorTools) => void;
}

/** For the handlers of the public surface. */
export interface VisitorTools {
  /** Counts one use of a form. @throws PlatformError `rate_limited` beyond {@link PublicSurface.limit}. */
  limit(c: AppContext): void;
  /** The name of the instance. */
  businessName(c: AppContext): Promise<string>;
}

/** For the application's own routes. */
export interface AppTools {
  /** @throws PlatformError `not_found` for a request that reached no instance. */
  instance(c: AppContext): Instance;
  /**
   * The signed-in member. @throws HTTPException 401; PlatformError `forbidden`, reason `not_a_member`, or `cross_site` for
   * an unsafe request of another site's page.
   */
  principal(c: AppContext): Promise<PrincipalId>;
  /** Demands a permission for the whole scope; a refusal is in the denial log. @throws PlatformError `permission_denied` */
  require(c: AppContext, permission: string): Promise<PrincipalId>;
  /** Runs an operation as the caller, and returns its output. */
  invoke(c: AppContext, operation: string, input: unknown): Promise<unknown>;
  /** The scope itself, for what no operation does. */
  scope(c: AppContext): ScopeStub;
  /** The settings of the instance: delivered, then bound, then the default. */
  settings(c: AppContext): Promise<Readonly<Record<string, string>>>;
  /** The JSON body, of at most 16 KiB. Refuses requests from other sites' pages. @throws PlatformError */
  body<S extends import('zod').ZodType>(c: AppContext, schema: S): Promise<import('zod').output<S>>;
  /**
   * The language model of the instance, within its limits. Only with `models`.
   * @param purpose the operation in the line of its usage: `order/summarise`.
   * @throws PlatformError `unavailable`, reason `model_not_configured`.
   */
  model(c: AppContext, purpose: string): Promise<GovernedModel>;
  /** Reports an error to the operator. */
  incident(c: AppContext, error: unknown, method: string): void;
}

/** The look of the supplied pages. */
export interface AppLook {
  /** The colour of links and buttons, as CSS writes it in hexadecimal: `#0f5132`. It is shifted where text would be hard to read. Default: a dark green. */
  readonly color?: string;
  /**
   * The language of the supplied pages, as an IETF tag: there are texts in English and German. Default: the one that the
   * reader's browser prefers of these.
   */
  readonly language?: string;
}

/** A checked declaration. Only {@link defineApp} makes one. */
export interface App<O extends OperationTable = OperationTable> extends AppDeclaration {
  /** The declared one with what is supplied. */
  readonly manifest: VerticalManifest;
  /** The declared ones with what is supplied. */
  readonly operations: O;
  /** For the kernel. */
  readonly vertical: Vertical;
  /** The types of records that have an address of their own. */
  readonly records: readonly AddressedRecord[];
}

/**
 * Checks the declaration whole, and opens nothing.
 * @throws AppDeclarationError that names the first mistake with its place, such as
 * `app.operations['order/create'].permission: names an undeclared permission: order.wirte; did you mean order.write?`, and
 * lists all of them in `problems`, each with its page in `docs/mistakes`.
 */
export function defineApp<const O extends OperationTable>(
  declaration: AppDeclaration & { readonly operations: O },
): App<O> {
  const [first, ...others] = findMistakes(declaration, modelOperations);
  if (first !== undefined) {
    const error = new AppDeclarationError([first, ...others]);
    // The first frame is the line of the declaration.
    Error.captureStackTrace?.(error, defineApp);
    throw error;
  }
  const vertical = verticalOf(declaration, modelOperations);
  // With the supplied operations, which the type does not name.
  const operations = vertical.operations as O;
  const app = { ...declaration, manifest: vertical.manifest, operations, vertical };
  return { ...app, records: recordsOf(app) };
}
