//! Generates the documentation site: searchable, linked, and readable without a network.
//!
//! `docs/SUMMARY.md` lists the pages in order. The build fails for a page missing from the summary, a broken link,
//! anchor or image, and any external resource of a page.

mod check;
mod layout;
mod paths;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use mdbook_driver::MDBook;
use mdbook_driver::config::Config;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the site has a folder of its own")?;
    let site = root.join("target/site");
    let laid_out = tempfile::tempdir()?;
    layout::lay_out(root, laid_out.path())?;
    let mut config: Config = include_str!("../book.toml").parse()?;
    config.book.src = "source".into();
    config.build.build_dir.clone_from(&site);
    fs::write(laid_out.path().join("pages.css"), include_str!("../pages.css"))?;
    MDBook::load_with_config(laid_out.path(), config)?.build()?;
    let followed = check::check(&site)?;
    println!("{followed} links lead somewhere: {}", site.join("index.html").display());
    Ok(())
}
