/** The small parts that every page is made of. */
import type { ButtonHTMLAttributes, ReactNode } from 'react';
import type { ApiError } from '../lib/api.ts';
import { initials } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { type OrderState, STATE_NAMES } from '../lib/states.ts';
import { Icon, type IconName } from './icon.tsx';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: 'primary' | 'plain' | 'quiet' | 'danger';
  readonly icon?: IconName;
  readonly busy?: boolean;
}

export function Button({
  look = 'plain',
  icon,
  busy = false,
  children,
  className = '',
  ...rest
}: ButtonProps) {
  return (
    <button type="button" {...rest} aria-busy={busy} className={`button button-${look} ${className}`}>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

export function StateBadge({ state }: { state: OrderState }) {
  return <span className={`badge state-${state}`}>{STATE_NAMES[state]}</span>;
}

export function Badge({
  tone = 'neutral',
  children,
}: {
  tone?: 'neutral' | 'good' | 'warn' | 'bad';
  children: ReactNode;
}) {
  return <span className={`badge badge-${tone}`}>{children}</span>;
}

/** Says what went wrong, in the server's own sentence, and is read out when it appears. */
export function ErrorNote({ error, children }: { error: ApiError | null; children?: ReactNode }) {
  return (
    <div role="alert" className={error ? 'error-note' : 'error-note-empty'}>
      {error && (
        <>
          <p>{error.message}</p>
          {children}
        </>
      )}
    </div>
  );
}

/** A page or a list that could not be loaded, with a way to try again. */
export function LoadError({ error, retry }: { error: ApiError; retry: () => void }) {
  return (
    <ErrorNote error={error}>
      {error.status !== 403 && error.status !== 404 && <Button onClick={retry}>Try again</Button>}
    </ErrorNote>
  );
}

/** A whole page that cannot be shown. */
export function PageError({ error, retry }: { error: ApiError; retry: () => void }) {
  if (error.status !== 403 && error.status !== 404) return <LoadError error={error} retry={retry} />;
  return (
    <EmptyState
      icon="shield"
      title={error.status === 403 ? 'This is not yours to see' : 'There is nothing here'}
    >
      <p role="alert">{error.message}</p>
    </EmptyState>
  );
}

export function EmptyState({
  icon,
  title,
  children,
}: {
  icon: IconName;
  title: string;
  children?: ReactNode;
}) {
  return (
    <div className="empty">
      <span className="empty-icon">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Grey bars where text will be. The words are for those who do not see them. */
export function Skeleton({ lines = 3, label = 'Loading' }: { lines?: number; label?: string }) {
  return (
    <div className="skeleton" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars are all alike and never move.
        <span key={index} />
      ))}
    </div>
  );
}

/** A person as a coloured circle. The name stands beside it, or is its label when `alone`. */
export function Avatar({
  principal,
  name,
  alone = false,
}: {
  principal: string;
  name: string;
  alone?: boolean;
}) {
  const { me } = useSession();
  const tone = [...principal].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 9_973, 7) % 6;
  return (
    <span
      className={`avatar avatar-${tone}`}
      {...(alone ? { role: 'img', 'aria-label': name, title: name } : { 'aria-hidden': true })}
    >
      {initials(principal === me.principal ? (me.subject?.name ?? name) : name)}
    </span>
  );
}

/** Several people as overlapping circles. */
export function Avatars({ principals }: { principals: readonly string[] }) {
  const { nameOf } = useSession();
  return (
    <span className="avatars">
      {principals.map((principal) => (
        <Avatar key={principal} principal={principal} name={nameOf(principal)} alone />
      ))}
    </span>
  );
}

/** A heading with what can be done about its page. */
export function PageHead({
  title,
  lead,
  children,
}: {
  title: ReactNode;
  lead?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        {lead && <p className="lead">{lead}</p>}
      </div>
      {children && <div className="page-actions">{children}</div>}
    </header>
  );
}

export function Card({
  title,
  action,
  children,
  className = '',
}: {
  title?: string;
  action?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={`card ${className}`} aria-label={title}>
      {title && (
        <header className="card-head">
          <h2>{title}</h2>
          {action}
        </header>
      )}
      {children}
    </section>
  );
}
