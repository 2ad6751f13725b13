import type { AnchorHTMLAttributes, MouseEvent, ReactNode } from 'react';
import { useSurroundings } from '../live/surroundings.js';

/** A link to another page, or its text where the page has no such address. New tabs stay with the browser. */
export function LinkTo({
  href,
  className,
  children,
  ...rest
}: Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> & { href: string | undefined }): ReactNode {
  const { navigate } = useSurroundings();
  if (href === undefined) return <span className={className}>{children}</span>;
  const onClick = (event: MouseEvent): void => {
    if (navigate === undefined) return;
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a href={href} className={className} {...rest} onClick={onClick}>
      {children}
    </a>
  );
}
