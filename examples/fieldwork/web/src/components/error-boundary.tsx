/** Shown when a part of the page breaks: a sentence and a way out, instead of an empty page. */
import { Component, type ReactNode } from 'react';
import { Button } from './basics.tsx';

interface Props {
  readonly children: ReactNode;
}

/** React offers this to classes only. */
export class ErrorBoundary extends Component<Props, { readonly broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError(): { readonly broken: boolean } {
    return { broken: true };
  }

  override render(): ReactNode {
    if (!this.state.broken) return this.props.children;
    return (
      <div className="page">
        <div role="alert" className="error-note">
          <p>This page has broken. What you saved before is safe.</p>
          <Button onClick={() => location.reload()}>Load it again</Button>
        </div>
      </div>
    );
  }
}
