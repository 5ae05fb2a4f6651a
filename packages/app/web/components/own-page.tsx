/** A page of the application's own, in the place of one of ours; and what is shown when a page fails. */
import { Component, type ComponentType, type ReactNode, useMemo } from 'react';
import type { OwnPageProps } from '../../src/own-page.ts';
import { ask, asRefusal, type Refusal } from '../lib/api.ts';
import { type Surroundings, useApp } from '../lib/app-context.tsx';
import { useLoad } from '../lib/hooks.ts';
import { language, t } from '../lib/language.ts';
import { navigate } from '../lib/router.ts';
import { RefusalNote } from './basics.tsx';

type Props = OwnPageProps<ReactNode>;

interface Module {
  readonly default: ComponentType<Props>;
}

export function OwnPage({
  type,
  id,
  supplied,
  own,
}: Pick<Props, 'type' | 'id' | 'supplied'> & { readonly own: Surroundings['own'][string] }) {
  const { declaration, notify } = useApp();
  const { value, refusal } = useLoad<Module>(own.script, (script) => import(script));
  const tools = useMemo<Pick<Props, 'ask' | 'notify' | 'navigate'>>(
    () => ({
      ask: async (path, options) => (await ask<never>(path, options)).value,
      notify: (text) => notify({ text }),
      navigate: (to) => navigate(to),
    }),
    [notify],
  );
  if (refusal) return <RefusalNote refusal={refusal} />;
  if (!value) return null;
  const Own = value.default;
  return (
    <>
      {own.style && <link rel="stylesheet" href={own.style} precedence="default" />}
      <Own {...{ type, id, supplied, declaration, language, ...tools }} />
    </>
  );
}

/** A page that fails takes no other part with it. */
export class Failsafe extends Component<
  { readonly children: ReactNode },
  { readonly refusal: Refusal | null }
> {
  override state = { refusal: null };

  static getDerivedStateFromError(error: unknown): { readonly refusal: Refusal } {
    return { refusal: asRefusal(error) };
  }

  override render(): ReactNode {
    const { refusal } = this.state;
    if (refusal === null) return this.props.children;
    return (
      <>
        <h1>{t.failed}</h1>
        <RefusalNote refusal={refusal} retry={() => this.setState({ refusal: null })} />
      </>
    );
  }
}
